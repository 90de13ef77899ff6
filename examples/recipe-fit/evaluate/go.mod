module evaluate-fit

go 1.27.0
