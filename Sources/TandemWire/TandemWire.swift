// TandemWire
