import BenchmarkTargets

/// P4: the time from k changed rows to the new sections and their changes, in one process.
///
/// Floor and list process the same batches alternately. The list's time includes the encoding of
/// the changed rows' sort keys.
struct ListBenchmark {
    let n: Int

    static let batches = [1, 10, 1_000]

    static func isSensible(_ k: Int, _ n: Int) -> Bool { k * 10 <= n }

    func run() throws {
        for isSingle in [false, true] {
            var editor = ListEditor(BenchData(contents: n), isSingle: isSingle)
            var floor = HandKeptList(editor)
            var list = MeasuredList(editor.rows.values.map { row($0, editor.bucketNames) })
            for k in Self.batches where Self.isSensible(k, n) {
                try measure(k, isSingle, &editor, &floor, &list)
            }
        }
    }

    private func measure(
        _ k: Int, _ isSingle: Bool, _ editor: inout ListEditor, _ floor: inout HandKeptList,
        _ list: inout MeasuredList
    ) throws {
        var (floorTimes, listTimes): ([Double], [Double]) = ([], [])
        let stop = now() + 3_000_000_000
        while listTimes.count < 5 || (listTimes.count < 1_000 && now() < stop) {
            let batch = editor.batch(k)
            let start = now()
            let changes = floor.apply(batch)
            floorTimes.append(microseconds(from: start, to: now()))
            let again = now()
            let outcome = list.apply(edits(batch, editor.bucketNames))
            listTimes.append(microseconds(from: again, to: now()))
            guard changes.count == k, outcome == k else {
                throw Failure("the change is not one of \(k) rows")
            }
            if listTimes.count == 1 { try check(editor, floor, list) }
        }
        try check(editor, floor, list)
        let metric = "apply_\(k)_changes" + (isSingle ? "_single_section" : "")
        for (peer, times) in [
            ("floor-swift-sorted-arrays", floorTimes), ("tandem-list", listTimes),
        ] {
            ResultLine(
                scenario: "p4", peer: peer, n: n, metric: metric, values: times,
                floor: peer == "tandem-list" ? floorTimes : [], notes: [("k", "\(k)")],
                durability: nil
            ).emit()
        }
    }

    private func check(
        _ editor: ListEditor, _ floor: HandKeptList, _ list: MeasuredList
    ) throws {
        let expected = editor.sections()
        let kept = floor.contents
        let shown = list.sections
        guard kept.map(\.name) == expected.map(\.name), kept.map(\.ids) == expected.map(\.ids),
            shown.map(\.name) == expected.map(\.name),
            shown.map({ $0.numbers.map { Int($0) } }) == expected.map(\.ids)
        else { throw Failure("the list differs from a full sort") }
    }

    private func edits(_ batch: [ListRowChange], _ names: [String]) -> MeasuredList.Edits {
        var edits = MeasuredList.Edits()
        for change in batch {
            if let new = change.new {
                edits.upsert(row(new, names))
            } else if let old = change.old {
                edits.remove(UInt64(old.id))
            }
        }
        return edits
    }

    /// Returns a row with its key: section name, date in descending order, name.
    private func row(_ row: ListRow, _ names: [String]) -> MeasuredList.Row {
        let name = names[row.bucket]
        var key: [UInt8] = []
        key.reserveCapacity(name.utf8.count + row.name.utf8.count + 10)
        key.append(contentsOf: name.utf8)
        key.append(0)
        withUnsafeBytes(of: (~row.creationDate.bitPattern).bigEndian) {
            key.append(contentsOf: $0)
        }
        key.append(contentsOf: row.name.utf8)
        key.append(0)
        return MeasuredList.Row(number: UInt64(row.id), sortKey: key, section: name)
    }
}
