import Tandem

/// The metrics, and their keys in the daemon's status.
///
/// The table on the page `Observability.md` of TandemDaemon lists them all; a test compares it with
/// the command's output.
extension JSON {
    /// All metrics of a daemon with this status.
    var exposition: Exposition {
        var exposition = Exposition()
        exposition.gauge("tandem_up", "1 if the daemon answers", 1)
        exposition.gauge(
            "tandem_uptime_seconds", "Time since the daemon started to serve",
            self["uptimeSeconds"]?.number)
        addWrites(to: &exposition)
        addJournal(to: &exposition)
        addStore(to: &exposition)
        addClients(to: &exposition)
        addConsumers(to: &exposition)
        return exposition
    }

    private func addWrites(to exposition: inout Exposition) {
        let histograms = self["histograms"]
        exposition.histogram(
            "tandem_save_seconds", "From the arrival of a save to its answer at the socket",
            histograms?["save"])
        exposition.histogram(
            "tandem_flush_seconds", "One write and flush of the journal", histograms?["flush"])
        exposition.histogram(
            "tandem_checkpoint_seconds", "One commit of the store", histograms?["checkpoint"])
        exposition.histogram(
            "tandem_fan_out_seconds", "From the end of a flush until the last session was served",
            histograms?["fanOut"])
        exposition.counter(
            "tandem_transactions_total", "Transactions made durable",
            self["transactions"]?.number)
        exposition.counter(
            "tandem_saves_repeated_total", "Repeated saves that received their first answer",
            self["repeatedSaves"]?.number)
        exposition.counters(
            "tandem_saves_refused_total", "Saves that were refused, by error",
            labelled("refusedSaves", "code"))
        exposition.gauge(
            "tandem_read_only", "1 while saves are refused", self["readOnly"]?.flag)
        exposition.gauge(
            "tandem_ring_transactions", "Recent transactions in memory",
            self["ring"]?["transactions"]?.number)
        exposition.gauge(
            "tandem_ring_bytes", "Bytes of recent transactions in memory",
            self["ring"]?["bytes"]?.number)
    }

    private func addJournal(to exposition: inout Exposition) {
        exposition.gauge(
            "tandem_journal_first_position", "The oldest position in the journal",
            self["journalFirst"]?.number)
        exposition.gauge(
            "tandem_journal_last_position", "The last durable position", self["position"]?.number)
        exposition.gauge(
            "tandem_checkpoint_position", "The position of the store on disk",
            self["checkpoint"]?.number)
        let retention = self["retention"]
        exposition.gauge(
            "tandem_journal_segments", "Segments of the journal", retention?["segments"]?.number)
        exposition.gauge(
            "tandem_journal_bytes", "Bytes of the journal's segments", retention?["bytes"]?.number)
        exposition.gauge(
            "tandem_journal_cap_bytes", "The hard limit on the journal's size",
            retention?["capBytes"]?.number)
        exposition.counter(
            "tandem_journal_trimmed_segments_total", "Segments removed from the journal",
            retention?["trimmedSegments"]?.number)
        exposition.counter(
            "tandem_journal_trimmed_bytes_total", "Bytes of removed segments",
            retention?["trimmedBytes"]?.number)
        exposition.gauge(
            "tandem_recovery_replayed_changes", "Changes applied from the journal at the start",
            self["replayedChanges"]?.number)
        exposition.gauge(
            "tandem_recovery_seconds", "Time to apply the journal at the start",
            self["replayMicroseconds"]?.number.map { $0 / 1_000_000 })
    }

    private func addStore(to exposition: inout Exposition) {
        exposition.gauge(
            "tandem_store_map_bytes", "The store's quota (mapBytes)", self["mapBytes"]?.number)
        exposition.gauge(
            "tandem_store_used_bytes", "Used part of the store's quota", self["usedBytes"]?.number)
        exposition.gauge(
            "tandem_store_used_ratio", "Used share of the store's quota",
            self["usedPercent"]?.number.map { $0 / 100 })
        exposition.gauge(
            "tandem_store_readers", "Processes and threads that read the store's file",
            self["storeReaders"]?.number)
        exposition.gauge(
            "tandem_store_oldest_reader_seconds", "Age of the oldest reader's snapshot",
            self["oldestReaderSeconds"]?.number)
        exposition.gauge(
            "tandem_store_oldest_reader_bytes",
            "Bytes committed since the oldest reader's snapshot",
            self["oldestReaderBytes"]?.number)
        exposition.counter(
            "tandem_store_dead_readers_total",
            "Readers that ended without releasing their snapshots",
            self["deadReaders"]?.number)
        let reads = self["reads"]
        exposition.gauge(
            "tandem_reads_running", "Reads in progress on snapshots",
            reads?["reading"]?.number)
        exposition.gauge(
            "tandem_reads_waiting", "Reads that wait for a checkpoint or a reader",
            reads?["waiting"]?.number)
        exposition.gauge(
            "tandem_reads_held_bytes", "Bytes that reads and their answers hold",
            reads?["heldBytes"]?.number)
        exposition.counter(
            "tandem_read_checkpoints_total", "Commits of the store for which reads waited",
            reads?["checkpoints"]?.number)
    }

    private func addClients(to exposition: inout Exposition) {
        let clients = self["clients"]?.array ?? []
        exposition.gauge("tandem_connections", "Connected clients", Double(clients.count))
        exposition.counter(
            "tandem_connections_opened_total", "Connections accepted",
            self["connectionsOpened"]?.number)
        exposition.counters(
            "tandem_connections_refused_total", "Connections refused or ended, by reason",
            labelled("refusedByReason", "reason"))
        exposition.counter(
            "tandem_requests_denied_total", "Requests that a role did not allow",
            self["deniedRequests"]?.number)
        exposition.counter(
            "tandem_requests_cancelled_total", "Requests cancelled by their clients",
            self["cancelledRequests"]?.number)
        exposition.counter(
            "tandem_cancels_late_total",
            "Attempts to cancel a request that was answered or cannot be cancelled",
            self["lateCancels"]?.number)
        exposition.counters(
            "tandem_limits_reached_total", "How often each limit was reached", limits)
        exposition.counter(
            "tandem_received_bytes_total", "Bytes from clients", self["receivedBytes"]?.number)
        exposition.counter(
            "tandem_sent_bytes_total", "Bytes to clients", self["sentBytes"]?.number)
        exposition.gauges(
            "tandem_client_lag_positions", "Positions not yet sent to a client",
            clients.compactMap { $0.sample("lag") })
        exposition.gauges(
            "tandem_client_queued_bytes", "Bytes queued for a client",
            clients.compactMap { $0.sample("queuedBytes") })
        exposition.gauges(
            "tandem_client_pins", "Positions that a client has pinned",
            clients.compactMap { $0.sample("pins") })
        exposition.counter(
            "tandem_pins_expired_total", "Pins that ended before they were released",
            self["retention"]?["expiredPins"]?.number)
    }

    private func addConsumers(to exposition: inout Exposition) {
        let consumers = self["consumers"]?.array ?? []
        func samples(_ key: String) -> [(Exposition.Labels, Double)] {
            consumers.compactMap { consumer in
                (consumer[key]?.number ?? consumer[key]?.flag).map {
                    (["consumer": consumer["name"]?.string ?? ""], $0)
                }
            }
        }
        exposition.gauges(
            "tandem_consumer_lag_positions", "Positions that a consumer has not acknowledged",
            samples("lag"))
        exposition.gauges(
            "tandem_consumer_expired", "1 if a consumer needs removed transactions",
            samples("expired"))
        exposition.counter(
            "tandem_consumers_expired_total", "Consumers whose transactions were removed",
            self["retention"]?["expiredConsumers"]?.number)
        exposition.counter(
            "tandem_sessions_expired_total", "Connected clients whose transactions were removed",
            self["retention"]?["expiredSessions"]?.number)
    }

    /// How often each limit was reached, sorted by name.
    private var limits: [(Exposition.Labels, Double)] {
        (self["limits"]?.object ?? [:]).sorted { $0.key < $1.key }.compactMap { name, limit in
            limit["reached"]?.number.map { (["limit": name], $0) }
        }
    }

    /// Returns the numbers of an object, each labelled with its key, in the order of the keys.
    private func labelled(_ key: String, _ label: String) -> [(Exposition.Labels, Double)] {
        (self[key]?.object ?? [:]).sorted { $0.key < $1.key }.compactMap { name, value in
            value.number.map { ([label: name], $0) }
        }
    }

    /// Returns a number of a client, labelled with the client's id, author and uid.
    private func sample(_ key: String) -> (Exposition.Labels, Double)? {
        guard let value = self[key]?.number else { return nil }
        let labels: Exposition.Labels = [
            "id": self["id"]?.plain ?? "", "author": self["author"]?.string ?? "",
            "uid": self["uid"]?.plain ?? "",
        ]
        return (labels, value)
    }

    /// 1 for true, 0 for false.
    private var flag: Double? { bool.map { $0 ? 1 : 0 } }
}
