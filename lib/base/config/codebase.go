package config

// Folder returns the folder of a codebase named in a record. The record names it as the
// configuration does or, like tri-dispatch, by the folder itself.
func (c *Config) Folder(codebase string) string {
	for _, b := range c.Codebases {
		if b.Name == codebase && codebase != "" {
			return b.Path
		}
	}
	return codebase
}
