package draft

// Problem is something wrong with a text. A fatal one must not leave.
type Problem struct {
	Name  string // empty, size, encoding, secret, mention, control, injection, url
	Note  string // for a person; never holds the secret itself
	Fatal bool
}
