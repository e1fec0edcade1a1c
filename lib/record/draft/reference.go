package draft

// The kinds of a reference (triage §4.3).
const (
	KindFile        = "file"
	KindLogQuery    = "log_query"
	KindGitCommit   = "git_commit"
	KindExternalDoc = "external_doc"
	KindMemory      = "memory"
	KindTriageFile  = "triage_file"
)

// Ref is one evidence_ref of triage §4.3.
type Ref struct {
	Kind string `json:"kind"`
	// Ref is "path/to/file.go:103-106" (lines from 1, both ends included) for a
	// file, a commit id for a commit, the query for a log, an address for a
	// document.
	Ref           string `json:"ref"`
	SupportsClaim string `json:"supports_claim"`
	// Quote is the text that stands there, as the agent read it. Ours.
	Quote string `json:"quote,omitempty"`
	// Receipt is written by code, never by an agent. Ours.
	Receipt *Receipt `json:"receipt,omitempty"`
}

// Receipt says what code saw when the reference was made.
type Receipt struct {
	Commit string `json:"commit"`  // of the codebase; "" where it is no git repository
	SHA256 string `json:"sha256"`  // of the whole file as it was read
	Lines  string `json:"lines"`   // SHA-256 of the cited lines, joined by LF
	ReadAt string `json:"read_at"` // RFC 3339
}
