// Package evidence is what a draft rests on: references into the codebase and
// elsewhere, and the receipts that code writes for them, so that a citation can
// be checked long after, whatever has moved since.
package evidence
