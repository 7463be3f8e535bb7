// TandemIO
