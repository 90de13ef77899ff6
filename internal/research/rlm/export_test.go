package rlm

// SetStep has a test told of each write of an engine, before and after it.
func (e *Engine) SetStep(step func(point string)) { e.step = step }
