// TandemResults
