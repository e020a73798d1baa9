module headgate.test/parsers

go 1.19
