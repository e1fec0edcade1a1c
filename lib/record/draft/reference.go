package draft

// The kinds of reference.
const (
	KindFile        = "file"
	KindLogQuery    = "log_query"
	KindGitCommit   = "git_commit"
	KindExternalDoc = "external_doc"
	KindMemory      = "memory"
	KindTriageFile  = "triage_file"
)

// Ref is one piece of evidence.
type Ref struct {
	Kind string `json:"kind"`
	// Ref is "path/to/file.go:103-106" (lines from 1, inclusive) for a file, the id for a commit,
	// the query for a log, the URL for a document.
	Ref           string `json:"ref"`
	SupportsClaim string `json:"supports_claim"`
	// Quote is the text at that place, as the agent read it.
	Quote string `json:"quote,omitempty"`
	// Receipt is written by code, never by an agent.
	Receipt *Receipt `json:"receipt,omitempty"`
}

// Receipt records what code read when the reference was made.
type Receipt struct {
	Commit string `json:"commit"`  // of the codebase; "" if it is not a git repository
	SHA256 string `json:"sha256"`  // of the whole file as read
	Lines  string `json:"lines"`   // SHA-256 of the cited lines, joined by LF
	ReadAt string `json:"read_at"` // RFC 3339
}
