package faults

// None is the kind of a good return.
const None = "none"

// The kinds of fault: the three fabricated references of the acceptance criteria, and those that
// tri-validate promises to catch.
const (
	BadPath        = "bad_path"        // a file that does not exist
	BadLine        = "bad_line"        // lines after the end of the file
	BadContent     = "bad_content"     // a quote that is not in the file
	OffLine        = "off_line"        // lines of the file, far from the quote
	InvertedNumber = "inverted_number" // another number
	InvertedUnit   = "inverted_unit"   // seconds, minutes
	InventedName   = "invented_name"   // an identifier that is not in the codebase
	OverConfident  = "over_confident"  // a wording stronger than its confidence
	ScopeDrift     = "scope_drift"     // an answer to another question, or more than was asked
	Secret         = "secret"
	Injection      = "injection"
)

type kind struct {
	name  string
	plant func(*subject) error
}

var table = []kind{
	{BadPath, badPath}, {BadLine, badLine}, {BadContent, badContent}, {OffLine, offLine},
	{InvertedNumber, invertedNumber}, {InvertedUnit, inverted(turnUnit)}, {InventedName, inventedName},
	{OverConfident, overConfident}, {ScopeDrift, scopeDrift}, {Secret, secret}, {Injection, injection},
}

// Faults are the kinds that are planted, in this order.
var Faults = func() []string {
	var names []string
	for _, k := range table {
		names = append(names, k.name)
	}
	return names
}()
