package faults

// None is the kind of a good return.
const None = "none"

// The kinds of fault. Those of triage AC-04 are bad_path, bad_line, bad_content.
const (
	BadPath         = "bad_path"         // a file that nobody wrote
	NearPath        = "near_path"        // a file that is not there, a slip away from one that is
	BadLine         = "bad_line"         // lines behind the end of the file
	OffLine         = "off_line"         // lines of the file, far from where the quote stands
	BadContent      = "bad_content"      // a quote that stands nowhere in the file
	SwappedQuotes   = "swapped_quotes"   // two quotes, each at the other's place
	InvertedNot     = "inverted_not"     // a claim denied
	InvertedBound   = "inverted_bound"   // at most, at least
	InvertedOrder   = "inverted_order"   // before, after
	InvertedNumber  = "inverted_number"  // another number
	InvertedDefault = "inverted_default" // enabled, disabled
	InvertedUnit    = "inverted_unit"    // seconds, minutes
	InventedName    = "invented_name"    // an identifier that is nowhere in the codebase
	InventedFlag    = "invented_flag"
	InventedVersion = "invented_version"
	InventedURL     = "invented_url"
	OverConfident   = "over_confident" // surer than its confidence
	UnderConfident  = "under_confident"
	ScopeDrift      = "scope_drift" // an answer to something else, or more than was asked
	AISmell         = "ai_smell"
	Secret          = "secret"
	Ping            = "ping"
	Hidden          = "hidden"
	Injection       = "injection"
	Contradiction   = "contradiction" // of another open thread
)

type kind struct {
	name  string
	plant func(*subject) error
}

var table = []kind{
	{BadPath, badPath}, {NearPath, nearPath}, {BadLine, badLine}, {OffLine, offLine}, {BadContent, badContent}, {SwappedQuotes, swappedQuotes},
	{InvertedNot, inverted(deny)}, {InvertedBound, inverted(turnBound)}, {InvertedOrder, inverted(turnOrder)},
	{InvertedNumber, invertedNumber}, {InvertedDefault, inverted(turnDefault)}, {InvertedUnit, inverted(turnUnit)},
	{InventedName, inventedName}, {InventedFlag, inventedFlag}, {InventedVersion, inventedVersion}, {InventedURL, inventedURL},
	{OverConfident, overConfident}, {UnderConfident, underConfident}, {ScopeDrift, scopeDrift}, {AISmell, aiSmell},
	{Secret, secret}, {Ping, ping}, {Hidden, hidden}, {Injection, injection}, {Contradiction, contradiction},
}

// Faults are the kinds that are planted, in this order.
var Faults = func() []string {
	var names []string
	for _, k := range table {
		names = append(names, k.name)
	}
	return names
}()
