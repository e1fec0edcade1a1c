// Package evidence resolves references into a codebase and stamps receipts (commit,
// hash, time), so that a citation can be checked later.
package evidence
