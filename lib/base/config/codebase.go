package config

// Folder returns the folder of a codebase named in a record. The record names it as the
// configuration does or, like tri-dispatch, by the folder itself.
func (c *Config) Folder(codebase string) string {
	if b := c.codebase(codebase); b != nil {
		return b.Path
	}
	return codebase
}
