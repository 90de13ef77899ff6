module metered

go 1.27.0
