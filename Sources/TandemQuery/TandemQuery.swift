// TandemQuery
