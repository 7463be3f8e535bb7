import TandemModel

/// Checks that each save id has an entry under its position, and that each such entry refers to a
/// save.
struct SaveChecker {
    private let graph: CheckedGraph

    init(_ graph: CheckedGraph) { self.graph = graph }

    /// Checks that the floor isn't above the next position, because retries of new saves would be
    /// rejected.
    func checkFloor(_ floor: UInt64, _ report: inout StoreReport) {
        let highest = graph.position + 1
        guard floor > highest else { return }
        report.add(
            StoreFinding(
                .highSaveFloor, .meta, Array("saveFloor".utf8),
                "save ids below \(floor) are forgotten, but the store is at "
                    + "\(graph.position)", [.lowerSaveFloor(to: highest)]))
    }

    func check(
        _ key: [UInt8], _ value: [UInt8], _ report: inout StoreReport
    ) throws(StoreError) {
        guard let saved = try? IdempotencyRecord(bytes: value), key.count >= 4 else {
            return reportLoose(
                .badValue, .saves, key, "the answer to a save cannot be read", &report)
        }
        guard saved.position > 0 || !saved.wrote, saved.position <= graph.position else {
            let message =
                "the save has position \(saved.position), but the store is at \(graph.position)"
            return reportLoose(.looseSave, .saves, key, message, &report)
        }
        let position = StoreKey.number(saved.position)
        let isFound =
            try saved.wrote
            ? graph.get(.saveOrder, position) == key : graph.get(.unchanged, position + key) != nil
        if isFound { return }
        let (table, order, value): (StoreTable, [UInt8], [UInt8]) =
            saved.wrote ? (.saveOrder, position, key) : (.unchanged, position + key, [])
        report.add(
            StoreFinding(
                .looseSave, table, order, "position \(saved.position) does not refer to its save",
                [.put(table, key: order, value: value)]))
    }

    func checkOrder(
        _ key: [UInt8], _ value: [UInt8], _ report: inout StoreReport
    ) throws(StoreError) {
        guard key.count == 8 else {
            return reportLoose(
                .badKey, .saveOrder, key, "the key has \(key.count) bytes, not 8", &report)
        }
        try checkSave(value, isAt: key, wrote: true, .saveOrder, key, &report)
    }

    func checkUnchanged(_ key: [UInt8], _ report: inout StoreReport) throws(StoreError) {
        guard key.count > 8 else {
            let message = "the key has \(key.count) bytes, not more than 8"
            return reportLoose(.badKey, .unchanged, key, message, &report)
        }
        let (position, save) = (Array(key.prefix(8)), Array(key.dropFirst(8)))
        try checkSave(save, isAt: position, wrote: false, .unchanged, key, &report)
    }

    private func checkSave(
        _ save: [UInt8], isAt position: [UInt8], wrote: Bool, _ table: StoreTable, _ key: [UInt8],
        _ report: inout StoreReport
    ) throws(StoreError) {
        let number = position.withUnsafeBytes { $0.bigEndian(0, as: UInt64.self) }
        let held = save.isEmpty ? nil : try graph.get(.saves, save)
        if let held, let saved = try? IdempotencyRecord(bytes: held), saved.position == number,
            saved.wrote == wrote
        {
            return
        }
        reportLoose(
            .looseSave, table, key, "position \(number) refers to a save that does not exist",
            &report)
    }

    private func reportLoose(
        _ kind: StoreFinding.Kind, _ table: StoreTable, _ key: [UInt8], _ message: String,
        _ report: inout StoreReport
    ) {
        report.add(StoreFinding(kind, table, key, message, [.delete(table, key: key)]))
    }
}
