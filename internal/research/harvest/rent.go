package harvest

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/prova-dev/prova/internal/research/intake"
)

// maxRents is how many machines are asked for before a run is given up: one that was
// on the list may be taken meanwhile.
const maxRents = 3

// sshKeyName is the name of the key at the provider (R§15.6).
const sshKeyName = "proof-eval-worker"

// rented does what needs a machine and returns the eval document. Whatever happens,
// it returns only when the pod is known to be gone, or a refusal of status 500.
func (h *Harvest) rented(ctx context.Context, j *job, log *slog.Logger, progress func(string)) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, h.o.Limits.Rent)
	defer cancel()

	progress("renting")
	template, err := h.template(limited, j)
	if err != nil {
		return nil, err
	}
	machines, err := h.machines(limited, j)
	if err != nil {
		return nil, err
	}
	if err := h.clear(limited, j); err != nil {
		return nil, err
	}

	document, unanswered, failed := h.onPod(limited, j, template, machines, log, progress)

	progress("terminating")
	var settle time.Duration
	if unanswered {
		settle = h.o.Limits.Settle
	}
	if err := h.terminate(ctx, j.pod, settle); err != nil {
		log.Error("a rented pod may be left behind")
		return nil, err
	}
	log.Info("pod terminated")
	return document, failed
}

// template finds or makes the template of the plan.
func (h *Harvest) template(ctx context.Context, j *job) (*Template, error) {
	ctx, cancel := context.WithTimeout(ctx, h.o.Limits.Template)
	defer cancel()
	t, err := resolveTemplate(ctx, h.o.Provider, j.plan.TemplateID, j.image, j.imageSum, h.o.Limits.Poll)
	if err != nil {
		return nil, j.refuse("harvest_template", "no digest-bound template: "+err.Error())
	}
	return t, nil
}

// machines lists what may be rented, the cheapest first: exactly one GPU, within
// what a run may cost when everything takes as long as it may.
func (h *Harvest) machines(ctx context.Context, j *job) ([]Machine, error) {
	list, err := h.o.Provider.Machines(ctx)
	if err != nil {
		return nil, j.refuse("harvest_rent", err.Error())
	}
	l := h.o.Limits
	longest := min(l.Rent, l.Boot+l.Stage+time.Duration(j.plan.DeadlineS)*time.Second+l.Grace)
	var fit []Machine
	var wider uint32
	tooDear := false
	for _, m := range list {
		switch {
		case m.GPUs == 0:
		case m.GPUs != j.plan.GPUCount:
			if wider == 0 || m.GPUs < wider {
				wider = m.GPUs
			}
		case m.USDPerHour*longest.Hours() > l.USD:
			tooDear = true
		default:
			fit = append(fit, m)
		}
	}
	slices.SortFunc(fit, func(a, b Machine) int {
		return cmp.Or(cmp.Compare(a.USDPerHour, b.USDPerHour), cmp.Compare(a.ID, b.ID))
	})
	switch {
	case len(fit) > 0:
		return fit, nil
	case tooDear:
		return nil, j.refuse("harvest_rent", "every machine on offer would cost more than one run may; refuse scoring")
	case wider != 0:
		return nil, j.refuse("harvest_width", width(wider))
	}
	return nil, j.refuse("harvest_rent", "no machine of exactly one GPU is on offer; refuse scoring")
}

// clear ends a pod of this run's name: what an earlier attempt of the submission left
// when its host died.
func (h *Harvest) clear(ctx context.Context, j *job) error {
	pods, err := h.o.Provider.Pods(ctx)
	if err != nil {
		return j.refuse("harvest_rent", err.Error())
	}
	if slices.ContainsFunc(pods, func(p Pod) bool { return p.Name == j.pod }) {
		return h.terminate(ctx, j.pod, 0)
	}
	return nil
}

// onPod rents, stages, runs and reads the result. unanswered says that a pod may
// still appear for a rent that got no answer.
func (h *Harvest) onPod(ctx context.Context, j *job, t *Template, machines []Machine, log *slog.Logger, progress func(string)) (document []byte, unanswered bool, _ error) {
	unanswered, err := h.rent(ctx, j, t, machines)
	if err != nil {
		return nil, unanswered, err
	}
	log.Info("pod rented")
	progress("booting")
	sh, err := h.boot(ctx, j)
	if err != nil {
		return nil, false, err
	}
	defer sh.close()
	progress("staging")
	if err := h.stage(ctx, j, sh); err != nil {
		return nil, false, err
	}
	progress("running")
	document, err = h.evaluate(ctx, j, sh, log)
	return document, false, err
}

// rent asks for one machine after the other until one is rented. A rent that got no
// answer ends it: a second one might make a second pod.
func (h *Harvest) rent(ctx context.Context, j *job, t *Template, machines []Machine) (unanswered bool, err error) {
	for i, m := range machines {
		if i == maxRents {
			break
		}
		if err = h.o.Provider.Rent(ctx, Order{
			MachineID: m.ID, TemplateID: t.ID, PodName: j.pod, SSHKeyName: sshKeyName, SSHKey: j.ssh.public,
		}); err == nil {
			return false, nil
		}
		if fault := new(Fault); !errors.As(err, &fault) || !fault.Nothing {
			return true, j.refuse("harvest_rent", err.Error())
		}
	}
	return false, j.refuse("harvest_rent", err.Error())
}

// boot waits until the pod takes SSH.
func (h *Harvest) boot(ctx context.Context, j *job) (*shell, error) {
	booting, cancel := context.WithTimeout(ctx, h.o.Limits.Boot)
	defer cancel()
	var hostKey ssh.PublicKey
	for {
		pods, err := h.o.Provider.Pods(booting)
		if err == nil {
			for _, p := range pods {
				if p.Name != j.pod {
					continue
				}
				if p.GPUs > 1 {
					return nil, j.refuse("harvest_width", width(p.GPUs))
				}
				if !p.Running || p.SSH == (Endpoint{}) {
					continue
				}
				if sh, err := dial(booting, p.SSH, j.ssh, &hostKey); err == nil {
					sh.until(ctx)
					return sh, nil
				}
			}
		}
		if wait(booting, h.o.Limits.Poll) != nil {
			return nil, j.refuse("harvest_boot", "the rented pod did not take SSH in time")
		}
	}
}

// stage copies everything into the pod.
func (h *Harvest) stage(ctx context.Context, j *job, sh *shell) error {
	staging, cancel := context.WithTimeout(ctx, h.o.Limits.Stage)
	defer cancel()
	defer context.AfterFunc(staging, func() { sh.client.Close() })()
	status, err := sh.run(prepareCommand, &output{most: keptTail})
	if err == nil && status != 0 {
		err = errRefused
	}
	if err == nil {
		err = sh.put(workDir, j.files)
	}
	if staging.Err() != nil {
		return j.refuse("harvest_stage", "staging did not end in time")
	}
	if err != nil {
		return j.refuse("harvest_stage", "staging failed: "+err.Error())
	}
	return nil
}

// evaluate runs the image's entry and returns the document that it printed.
func (h *Harvest) evaluate(ctx context.Context, j *job, sh *shell, log *slog.Logger) ([]byte, error) {
	seconds := podTimeout(j.plan.DeadlineS, h.o.EvalTimeoutS)
	running, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second+h.o.Limits.Grace)
	defer cancel()
	defer context.AfterFunc(running, func() { sh.client.Close() })()
	out := &output{most: h.o.Limits.Stdout}
	begun := h.o.Now()
	exit, err := sh.run(runCommand(seconds), out)
	elapsed := h.o.Now().Sub(begun)
	out.close()
	tail := out.tail(j.withheld)
	log.Info("run ended", "exit", exit, "seconds", int(elapsed/time.Second), "lost", err != nil)
	switch {
	case out.flooded:
		return nil, j.refuse("harvest_output", "proof-eval printed more than a run may; stdout_tail: "+tail)
	case err != nil && ctx.Err() == nil && running.Err() != nil:
		return nil, refuse("harvest_deadline", overdue(seconds, tail))
	case err != nil:
		return nil, refuse("harvest_lost", err.Error()+"; stdout_tail: "+tail)
	}
	if why := classify(exit, elapsed, seconds, tail); why != "" {
		return nil, refuse("harvest_exit", why)
	}
	document, why := out.document()
	if why != "" {
		return nil, refuse("harvest_output", why+"; stdout_tail: "+tail)
	}
	return document, nil
}

// terminate ends every pod of a name and returns once none is listed, nor was for
// the whole of settle. It outlives ctx: a pod costs money until it is gone. The error
// is the integrity refusal of R§10.
func (h *Harvest) terminate(ctx context.Context, name string, settle time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.o.Limits.Terminate+settle)
	defer cancel()
	settled, stop := context.WithTimeout(ctx, settle)
	defer stop()
	for {
		pods, err := h.o.Provider.Pods(ctx)
		there := false
		for _, p := range pods {
			if err == nil && p.Name == name {
				there = true
				// What comes of it is seen in the next list.
				_ = h.o.Provider.Terminate(ctx, p.ID)
			}
		}
		if err == nil && !there && settled.Err() != nil {
			return nil
		}
		if wait(ctx, h.o.Limits.Poll) != nil {
			return &intake.Refusal{
				Row: "23", Name: "termination", Status: statusIntegrity,
				Text: "integrity: termination of the rented pod is not verified",
			}
		}
	}
}

// Sweep terminates pods that an earlier process of this host left: those with the
// names of runs, but for the runs in flight here. It returns how many there were. An
// account must serve one host alone.
func (h *Harvest) Sweep(ctx context.Context) (int, error) {
	pods, err := h.o.Provider.Pods(ctx)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, p := range pods {
		if !runPod.MatchString(p.Name) || !h.enter(p.Name) {
			continue
		}
		n++
		err := h.terminate(ctx, p.Name, 0)
		h.leave(p.Name)
		if err != nil {
			return n, err
		}
	}
	return n, nil
}
