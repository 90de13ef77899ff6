package judge

import (
	"strings"

	"github.com/prova-dev/prova/evidence/canonjson"
)

// About is what a question was about. A prompt that wants an object back tells the
// model to repeat both, so that an answer cannot be taken for that to another one.
type About struct {
	TopicID string
	Subject string // what of the topic, such as a submission digest; empty: the topic itself
}

// Object takes a reply for one JSON object and nothing else, a single code fence
// around all of it aside. Its members topic_id and, when there is one, subject must
// be those asked about. The error is an *[Error]: Prose or OtherTopic. It shows
// nothing of the reply.
func (r *Reply) Object(a About) (*canonjson.Object, error) {
	v, err := canonjson.ParseStrict([]byte(unfence(r.Text)))
	if err != nil {
		return nil, fault(Prose, "the judge answered with text where one JSON object was asked for")
	}
	object, ok := v.(*canonjson.Object)
	if !ok {
		return nil, fault(Prose, "the judge answered with JSON that is not an object")
	}
	if id, _ := member[string](object, "topic_id"); a.TopicID == "" || id != a.TopicID {
		return nil, fault(OtherTopic, "the judge did not answer for topic "+a.TopicID)
	}
	if subject, _ := member[string](object, "subject"); a.Subject != "" && subject != a.Subject {
		return nil, fault(OtherTopic, "the judge did not answer for the subject that it was asked about")
	}
	return object, nil
}

// unfence takes off the one code fence that many models put around JSON.
func unfence(text string) string {
	text = strings.TrimSpace(text)
	inner, ok := strings.CutPrefix(text, "```")
	if !ok {
		return text
	}
	inner, ok = strings.CutSuffix(inner, "```")
	if !ok {
		return text
	}
	return strings.TrimPrefix(inner, "json")
}
