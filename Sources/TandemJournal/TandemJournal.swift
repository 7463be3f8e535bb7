// TandemJournal
