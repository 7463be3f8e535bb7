import Tandem

extension TransactionWriter {
    /// A heading and a line for each change.
    var verbose: [String] {
        let principal = transaction.principal
        var lines = ["\(time)  \(cursor?.description ?? String(transaction.position))"]
        lines.append(
            "    author=\(principal.author) context=\(principal.context) uid=\(principal.uid) "
                + "gid=\(principal.gid) pid=\(principal.pid) unit=\(principal.unit)")
        if case .model = transaction.content { lines.append("    \(summary)") }
        lines += transaction.changes.map { "    \(json($0).text)" }
        return lines
    }
}
