package postgres

// What one statement reads of many rows. A page has at least one row.
const (
	pageRows  = 1000
	pageBytes = 4 << 20
)

// isFull reports whether there may be rows after a page.
func isFull(rows, bytes int) bool { return rows == pageRows || bytes >= pageBytes }
