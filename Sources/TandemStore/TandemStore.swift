// TandemStore
