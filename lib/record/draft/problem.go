package draft

// Problem is a fault in a text. A text with a fatal one must not be posted.
type Problem struct {
	Name  string // empty, size, encoding, secret, mention, control, injection, url
	Note  string // for a person; never contains the secret itself
	Fatal bool
}
