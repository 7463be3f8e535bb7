import TandemModel

/// Checks of long values: every content exists, matches its hash, and has the right use count.
extension StoreChecker {
    /// Checks that the contents used by rows exist; runs after the rows have been scanned.
    func checkUsesAreThere() throws(StoreError) {
        for (blob, count) in blobCounts.sorted(by: {
            $0.key.hash.lexicographicallyPrecedes($1.key.hash)
        }) {
            if try open.get(store.tables.blobs, blob.hash) == nil {
                find(
                    StoreFinding(
                        .missingBlob, .blobs, blob.hash,
                        "\(count) rows refer to the content, which is missing"))
            }
            guard try get(.blobUses, blob.hash) == nil else { continue }
            let uses = BlobUses(count: count, since: report.position)
            find(
                StoreFinding(
                    .wrongBlobUses, .blobUses, blob.hash,
                    "\(count) rows refer to the content, but no count exists",
                    [.put(.blobUses, key: blob.hash, value: uses.bytes)]))
        }
        for (blob, count) in blobCounts { countsByHash[blob.hash, default: 0] += count }
    }

    func checkUses(_ key: [UInt8], _ value: [UInt8]) throws(StoreError) {
        let expected = countsByHash[key] ?? 0
        if expected == 0, try open.get(store.tables.blobs, key) == nil {
            return strayBlob(.blobUses, key, "the counted content does not exist")
        }
        let uses = value.withUnsafeBytes { BlobUses($0) }
        guard let uses, uses.count == expected else {
            let since = uses?.since ?? report.position
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
            return find(StoreFinding(.wrongBlobUses, .blobUses, key, message, repairs))
        }
        guard expected == 0 else { return }
        let unused = StoreKey.number(uses.since) + key
        guard try get(.unusedBlobs, unused) == nil else { return }
        find(
            StoreFinding(
                .strayBlob, .unusedBlobs, unused,
                "no row refers to the content, which is not recorded as unused",
                [.put(.unusedBlobs, key: unused, value: [])]))
    }

    func checkBlob(_ key: [UInt8], _ value: [UInt8]) throws(StoreError) {
        let isRight =
            value.count > BlobReference.inlineLimit && BlobReference(of: value).hash == key
        if countsByHash[key] != nil {
            guard !isRight else { return }
            return find(
                StoreFinding(.missingBlob, .blobs, key, "the content does not have this hash"))
        }
        let isCounted = try get(.blobUses, key) != nil
        guard !isRight || !isCounted else { return }
        strayBlob(.blobs, key, "no row and no count refer to the content, or its hash is wrong")
    }

    func checkUnused(_ key: [UInt8]) throws(StoreError) {
        if key.count == 40,
            let uses = try get(.blobUses, Array(key.dropFirst(8)))?.withUnsafeBytes({ BlobUses($0) }
            ),
            uses.count == 0, key.starts(with: StoreKey.number(uses.since))
        {
            return
        }
        strayBlob(.unusedBlobs, key, "the content is not unused, or not since this position")
    }

    private func strayBlob(_ table: StoreTable, _ key: [UInt8], _ message: String) {
        find(StoreFinding(.strayBlob, table, key, message, [.delete(table, key: key)]))
    }
}
