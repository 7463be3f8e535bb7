import TandemModel

/// Checks blobs: each exists, matches its hash, and has the right use count.
struct BlobChecker {
    private let graph: CheckedGraph
    /// The number of uses of each blob in the rows.
    private var countsByBlob: [BlobReference: Int64] = [:]
    /// The same counts, by the hash under which the blob is stored; set after the rows have been
    /// scanned.
    private var countsByHash: [[UInt8]: Int64] = [:]

    init(_ graph: CheckedGraph) { self.graph = graph }

    /// Counts the blobs that a row uses.
    mutating func count(_ row: Row, _ entity: CompiledEntity) {
        assert(countsByHash.isEmpty, "Counts are compared after all rows have been scanned.")
        for blob in row.blobs(in: entity) { countsByBlob[blob, default: 0] += 1 }
    }

    /// Checks that the blobs used by rows exist; called after the rows have been scanned.
    mutating func checkUsesExist(_ report: inout StoreReport) throws(StoreError) {
        for (blob, count) in countsByBlob.sorted(by: {
            $0.key.hash.lexicographicallyPrecedes($1.key.hash)
        }) {
            if try graph.get(.blobs, blob.hash) == nil {
                report.add(
                    StoreFinding(
                        .missingBlob, .blobs, blob.hash,
                        "\(count) rows refer to the content, which is missing"))
            }
            guard try graph.get(.blobUses, blob.hash) == nil else { continue }
            let uses = BlobUses(count: count, since: graph.position)
            report.add(
                StoreFinding(
                    .wrongBlobUses, .blobUses, blob.hash,
                    "\(count) rows refer to the content, but no count exists",
                    [.put(.blobUses, key: blob.hash, value: uses.bytes)]))
        }
        for (blob, count) in countsByBlob { countsByHash[blob.hash, default: 0] += count }
    }

    func checkUses(
        _ key: [UInt8], _ value: [UInt8], _ report: inout StoreReport
    ) throws(StoreError) {
        let expected = countsByHash[key] ?? 0
        if expected == 0, try graph.get(.blobs, key) == nil {
            return reportStray(.blobUses, key, "the counted content does not exist", &report)
        }
        let uses = value.withUnsafeBytes { BlobUses($0) }
        guard let uses, uses.count == expected else {
            let since = uses?.since ?? graph.position
            let right = BlobUses(count: expected, since: since)
            var repairs = [
                StoreFinding.Repair.put(.blobUses, key: key, value: right.bytes)
            ]
            if expected == 0 {
                repairs.append(
                    .put(.unusedBlobs, key: StoreKey.number(since) + key, value: []))
            }
            let counted = uses.map { "\($0.count)" } ?? "no count"
            let message = "\(expected) rows refer to the content, but the count is \(counted)"
            return report.add(StoreFinding(.wrongBlobUses, .blobUses, key, message, repairs))
        }
        guard expected == 0 else { return }
        let unused = StoreKey.number(uses.since) + key
        guard try graph.get(.unusedBlobs, unused) == nil else { return }
        report.add(
            StoreFinding(
                .strayBlob, .unusedBlobs, unused,
                "no row refers to the content, which is not recorded as unused",
                [.put(.unusedBlobs, key: unused, value: [])]))
    }

    func checkBlob(
        _ key: [UInt8], _ value: [UInt8], _ report: inout StoreReport
    ) throws(StoreError) {
        let isRight =
            value.count > BlobReference.inlineLimit && BlobReference(of: value).hash == key
        if countsByHash[key] != nil {
            guard !isRight else { return }
            return report.add(
                StoreFinding(.missingBlob, .blobs, key, "the content does not have this hash"))
        }
        let isCounted = try graph.get(.blobUses, key) != nil
        guard !isRight || !isCounted else { return }
        reportStray(
            .blobs, key, "no row and no count refer to the content, or its hash is wrong", &report)
    }

    func checkUnused(_ key: [UInt8], _ report: inout StoreReport) throws(StoreError) {
        if key.count == 40,
            let uses = try graph.get(.blobUses, Array(key.dropFirst(8)))?.withUnsafeBytes({
                BlobUses($0)
            }
            ),
            uses.count == 0, key.starts(with: StoreKey.number(uses.since))
        {
            return
        }
        reportStray(
            .unusedBlobs, key, "the content is not unused, or not since this position", &report)
    }

    private func reportStray(
        _ table: StoreTable, _ key: [UInt8], _ message: String, _ report: inout StoreReport
    ) {
        report.add(StoreFinding(.strayBlob, table, key, message, [.delete(table, key: key)]))
    }
}
