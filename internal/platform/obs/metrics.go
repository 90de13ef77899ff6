package obs

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// NewMetrics is a registry of its own with the process's and the runtime's
// metrics in it. Nothing is registered globally, so several services may run in
// one process.
func NewMetrics() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// MetricsHandler serves a registry in the text format. It belongs on an internal
// listener.
func MetricsHandler(r *prometheus.Registry) http.Handler {
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{Registry: r, MaxRequestsInFlight: 4})
}

// Requests counts and times the requests of one service.
type Requests struct {
	count   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
}

// NewRequests registers prova_http_requests_total and
// prova_http_request_seconds for the service named.
func NewRequests(r prometheus.Registerer, service string) (*Requests, error) {
	labels := prometheus.Labels{"service": service}
	m := &Requests{
		count: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "prova_http_requests_total", Help: "Requests answered, by route pattern and status class.", ConstLabels: labels,
		}, []string{"route", "class"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "prova_http_request_seconds", Help: "Time to answer.", ConstLabels: labels,
			Buckets: []float64{.001, .003, .01, .03, .1, .3, 1, 3, 10, 30, 120},
		}, []string{"route"}),
	}
	for _, c := range []prometheus.Collector{m.count, m.seconds} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Observe records one request. route is the pattern that matched, never a path:
// paths have no bound.
func (m *Requests) Observe(route string, status int, took time.Duration) {
	m.count.WithLabelValues(route, strconv.Itoa(status/100)+"xx").Inc()
	m.seconds.WithLabelValues(route).Observe(took.Seconds())
}
