import TandemModel

/// The metrics, and their keys in the daemon's status.
///
/// The table on the page `Observability.md` of TandemDaemon lists them all; a test compares it with
/// the output of `tandem metrics`.
extension DaemonMetrics {
    /// Creates the metrics of a daemon with this status, which is JSON text.
    ///
    /// Throws an error if the text is not JSON.
    package init(status: String) throws { self = try JSON(parsing: status).metrics }
}

extension JSON {
    /// All metrics of a daemon with this status.
    fileprivate var metrics: DaemonMetrics {
        var metrics = DaemonMetrics(isUp: true)
        metrics.gauge(
            "tandem_uptime_seconds", "Time since the daemon started to serve",
            self["uptimeSeconds"]?.number)
        addWrites(to: &metrics)
        addJournal(to: &metrics)
        addStore(to: &metrics)
        addClients(to: &metrics)
        addConsumers(to: &metrics)
        return metrics
    }

    private func addWrites(to metrics: inout DaemonMetrics) {
        let histograms = self["histograms"]
        metrics.histogram(
            "tandem_save_seconds", "From the arrival of a save to its answer at the socket",
            histograms?["save"])
        metrics.histogram(
            "tandem_flush_seconds", "One write and flush of the journal", histograms?["flush"])
        metrics.histogram(
            "tandem_checkpoint_seconds", "One commit of the store", histograms?["checkpoint"])
        metrics.histogram(
            "tandem_fan_out_seconds", "From the end of a flush until the last session was served",
            histograms?["fanOut"])
        metrics.counter(
            "tandem_transactions_total", "Transactions made durable",
            self["transactions"]?.number)
        metrics.counter(
            "tandem_saves_repeated_total", "Repeated saves that received their first answer",
            self["repeatedSaves"]?.number)
        metrics.counters(
            "tandem_saves_refused_total", "Saves that were refused, by error",
            labelled("refusedSaves", "code"))
        metrics.gauge(
            "tandem_read_only", "1 while saves are refused", self["readOnly"]?.flag)
        metrics.gauge(
            "tandem_ring_transactions", "Recent transactions in memory",
            self["ring"]?["transactions"]?.number)
        metrics.gauge(
            "tandem_ring_bytes", "Bytes of recent transactions in memory",
            self["ring"]?["bytes"]?.number)
    }

    private func addJournal(to metrics: inout DaemonMetrics) {
        metrics.gauge(
            "tandem_journal_first_position", "The oldest position in the journal",
            self["journalFirst"]?.number)
        metrics.gauge(
            "tandem_journal_last_position", "The last durable position", self["position"]?.number)
        metrics.gauge(
            "tandem_checkpoint_position", "The position of the store on disk",
            self["checkpoint"]?.number)
        let retention = self["retention"]
        metrics.gauge(
            "tandem_journal_segments", "Segments of the journal", retention?["segments"]?.number)
        metrics.gauge(
            "tandem_journal_bytes", "Bytes of the journal's segments", retention?["bytes"]?.number)
        metrics.gauge(
            "tandem_journal_cap_bytes", "The hard limit on the journal's size",
            retention?["capBytes"]?.number)
        metrics.counter(
            "tandem_journal_trimmed_segments_total", "Segments removed from the journal",
            retention?["trimmedSegments"]?.number)
        metrics.counter(
            "tandem_journal_trimmed_bytes_total", "Bytes of removed segments",
            retention?["trimmedBytes"]?.number)
        metrics.gauge(
            "tandem_recovery_replayed_changes", "Changes applied from the journal at the start",
            self["replayedChanges"]?.number)
        metrics.gauge(
            "tandem_recovery_seconds", "Time to apply the journal at the start",
            self["replayMicroseconds"]?.number.map { $0 / 1_000_000 })
    }

    private func addStore(to metrics: inout DaemonMetrics) {
        metrics.gauge(
            "tandem_store_map_bytes", "The store's quota (mapBytes)", self["mapBytes"]?.number)
        metrics.gauge(
            "tandem_store_used_bytes", "Used part of the store's quota", self["usedBytes"]?.number)
        metrics.gauge(
            "tandem_store_used_ratio", "Used share of the store's quota",
            self["usedPercent"]?.number.map { $0 / 100 })
        metrics.gauge(
            "tandem_store_readers", "Processes and threads that read the store's file",
            self["storeReaders"]?.number)
        metrics.gauge(
            "tandem_store_oldest_reader_seconds", "Age of the oldest reader's snapshot",
            self["oldestReaderSeconds"]?.number)
        metrics.gauge(
            "tandem_store_oldest_reader_bytes",
            "Bytes committed since the oldest reader's snapshot",
            self["oldestReaderBytes"]?.number)
        metrics.counter(
            "tandem_store_dead_readers_total",
            "Readers that ended without releasing their snapshots",
            self["deadReaders"]?.number)
        let reads = self["reads"]
        metrics.gauge(
            "tandem_reads_running", "Reads in progress on snapshots",
            reads?["reading"]?.number)
        metrics.gauge(
            "tandem_reads_waiting", "Reads that wait for a checkpoint or a reader",
            reads?["waiting"]?.number)
        metrics.gauge(
            "tandem_reads_held_bytes", "Bytes that reads and their answers hold",
            reads?["heldBytes"]?.number)
        metrics.counter(
            "tandem_read_checkpoints_total", "Commits of the store for which reads waited",
            reads?["checkpoints"]?.number)
    }

    private func addClients(to metrics: inout DaemonMetrics) {
        let clients = self["clients"]?.array ?? []
        metrics.gauge("tandem_connections", "Connected clients", Double(clients.count))
        metrics.counter(
            "tandem_connections_opened_total", "Connections accepted",
            self["connectionsOpened"]?.number)
        metrics.counters(
            "tandem_connections_refused_total", "Connections refused or ended, by reason",
            labelled("refusedByReason", "reason"))
        metrics.counter(
            "tandem_requests_denied_total", "Requests that a role did not allow",
            self["deniedRequests"]?.number)
        metrics.counter(
            "tandem_requests_cancelled_total", "Requests cancelled by their clients",
            self["cancelledRequests"]?.number)
        metrics.counter(
            "tandem_cancels_late_total",
            "Attempts to cancel a request that was answered or cannot be cancelled",
            self["lateCancels"]?.number)
        metrics.counters(
            "tandem_limits_reached_total", "How often each limit was reached", limits)
        metrics.counter(
            "tandem_received_bytes_total", "Bytes from clients", self["receivedBytes"]?.number)
        metrics.counter(
            "tandem_sent_bytes_total", "Bytes to clients", self["sentBytes"]?.number)
        metrics.gauges(
            "tandem_client_lag_positions", "Positions not yet sent to a client",
            clients.compactMap { $0.sample("lag") })
        metrics.gauges(
            "tandem_client_queued_bytes", "Bytes queued for a client",
            clients.compactMap { $0.sample("queuedBytes") })
        metrics.gauges(
            "tandem_client_pins", "Positions that a client has pinned",
            clients.compactMap { $0.sample("pins") })
        metrics.counter(
            "tandem_pins_expired_total", "Pins that ended before they were released",
            self["retention"]?["expiredPins"]?.number)
    }

    private func addConsumers(to metrics: inout DaemonMetrics) {
        let consumers = self["consumers"]?.array ?? []
        func samples(_ key: String) -> [DaemonMetrics.Sample] {
            consumers.compactMap { consumer in
                (consumer[key]?.number ?? consumer[key]?.flag).map {
                    ([("consumer", consumer["name"]?.string ?? "")], $0)
                }
            }
        }
        metrics.gauges(
            "tandem_consumer_lag_positions", "Positions that a consumer has not acknowledged",
            samples("lag"))
        metrics.gauges(
            "tandem_consumer_expired", "1 if a consumer needs removed transactions",
            samples("expired"))
        metrics.counter(
            "tandem_consumers_expired_total", "Consumers whose transactions were removed",
            self["retention"]?["expiredConsumers"]?.number)
        metrics.counter(
            "tandem_sessions_expired_total", "Connected clients whose transactions were removed",
            self["retention"]?["expiredSessions"]?.number)
    }

    /// How often each limit was reached, sorted by name.
    private var limits: [DaemonMetrics.Sample] {
        (self["limits"]?.object ?? [:]).sorted { $0.key < $1.key }.compactMap { name, limit in
            limit["reached"]?.number.map { ([("limit", name)], $0) }
        }
    }

    /// Returns the numbers of an object, each labelled with its key, in the order of the keys.
    private func labelled(_ key: String, _ label: String) -> [DaemonMetrics.Sample] {
        (self[key]?.object ?? [:]).sorted { $0.key < $1.key }.compactMap { name, value in
            value.number.map { ([(label, name)], $0) }
        }
    }

    /// Returns a number of a client, labelled with the client's id, author and uid.
    private func sample(_ key: String) -> DaemonMetrics.Sample? {
        guard let value = self[key]?.number else { return nil }
        let labels: DaemonMetrics.Labels = [
            ("id", self["id"]?.text ?? ""), ("author", self["author"]?.string ?? ""),
            ("uid", self["uid"]?.text ?? ""),
        ]
        return (labels, value)
    }

    /// 1 for true, 0 for false.
    private var flag: Double? { bool.map { $0 ? 1 : 0 } }
}
