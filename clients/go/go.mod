module example.com/weir/go

go 1.21
