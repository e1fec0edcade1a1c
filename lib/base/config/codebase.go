package config

// Folder is the folder of a codebase that a record names, by its name here or, as
// tri-dispatch does, by the folder itself.
func (c *Config) Folder(codebase string) string {
	for _, b := range c.Codebases {
		if b.Name == codebase && codebase != "" {
			return b.Path
		}
	}
	return codebase
}
