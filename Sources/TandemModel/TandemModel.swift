// TandemModel
