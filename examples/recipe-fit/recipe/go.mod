module recipe-fit

go 1.27.0
