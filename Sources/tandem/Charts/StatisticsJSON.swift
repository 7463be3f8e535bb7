import Tandem

/// Statistics as one JSON object; its keys are never renamed.
struct StatisticsJSON {
    let statistics: JournalStatistics

    var json: JSON {
        let key = statistics.statistic.rawValue
        let rows = statistics.rows.map { row -> JSON in
            var members = counted(row.counts)
            members[row.most == nil ? key : "upToBytes"] =
                row.most.map { .int(Int64($0)) } ?? .string(row.name)
            return .object(members)
        }
        var members = counted(statistics.total)
        members["by"] = .string(key)
        members["ofBatches"] = .int(Int64(statistics.total.batches))
        members["rows"] = .array(rows)
        if let span = statistics.span {
            members["first"] = .int(Int64(clamping: span.first))
            members["last"] = .int(Int64(clamping: span.last))
            members["since"] = .double(Double(span.earliest) / 1_000_000)
            members["until"] = .double(Double(span.latest) / 1_000_000)
        }
        return .object(members)
    }

    private func counted(_ counts: StatisticCounts) -> [String: JSON] {
        var members = [
            "transactions": counts.transactions, "changes": counts.changes,
            "inserts": counts.inserts, "updates": counts.updates, "deletes": counts.deletes,
            "touches": counts.touches,
        ]
        if [.author, .size].contains(statistics.statistic) { members["bytes"] = counts.bytes }
        return members.mapValues { .int(Int64($0)) }
    }
}
