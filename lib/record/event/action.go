package event

// Action is one line of actions.ndjson: a click on a button of a card of ours, or
// a reaction to one of our messages. It is what somebody did, not yet a decision:
// who may decide is looked up where it is read.
type Action struct {
	ID        string `json:"id"` // the platform's id of the click or reaction: the same at every delivery
	Platform  string `json:"platform"`
	ChatID    string `json:"chat_id"`
	MessageID string `json:"message_id"` // of the card or message
	At        string `json:"at"`         // RFC 3339 in UTC
	Sender    Sender `json:"sender"`     // who did it
	Name      string `json:"name"`       // of the button: approve, dismiss, …; of a reaction: its emoji, "👍"
	Value     string `json:"value"`      // what the button carries; "" of a reaction
	Removed   bool   `json:"removed,omitempty"`
}
