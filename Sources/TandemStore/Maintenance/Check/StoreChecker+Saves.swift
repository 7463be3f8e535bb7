import TandemModel

/// Checks that each save id can be found by its position, and that each position refers to a save.
extension StoreChecker {
    func checkSave(_ key: [UInt8], _ value: [UInt8]) throws(StoreError) {
        guard let saved = try? IdempotencyRecord(bytes: value), key.count >= 4 else {
            return loose(.badValue, .saves, key, "the answer to a save cannot be read")
        }
        guard saved.position > 0 || !saved.wrote, saved.position <= report.position else {
            let message =
                "the save has position \(saved.position), but the store is at \(report.position)"
            return loose(.looseSave, .saves, key, message)
        }
        let position = StoreKey.number(saved.position)
        let isFound =
            try saved.wrote
            ? get(.saveOrder, position) == key : get(.unchanged, position + key) != nil
        if isFound { return }
        let (table, order, value): (StoreTable, [UInt8], [UInt8]) =
            saved.wrote ? (.saveOrder, position, key) : (.unchanged, position + key, [])
        find(
            StoreFinding(
                .looseSave, table, order, "position \(saved.position) does not refer to its save",
                [.put(table, key: order, value: value)]))
    }

    func checkOrder(_ key: [UInt8], _ value: [UInt8]) throws(StoreError) {
        guard key.count == 8 else {
            return loose(.badKey, .saveOrder, key, "the key has \(key.count) bytes, not 8")
        }
        try checkSave(value, isAt: key, wrote: true, .saveOrder, key)
    }

    func checkUnchanged(_ key: [UInt8]) throws(StoreError) {
        guard key.count > 8 else {
            return loose(.badKey, .unchanged, key, "the key has more than 8 bytes")
        }
        let (position, save) = (Array(key.prefix(8)), Array(key.dropFirst(8)))
        try checkSave(save, isAt: position, wrote: false, .unchanged, key)
    }

    private func checkSave(
        _ save: [UInt8], isAt position: [UInt8], wrote: Bool, _ table: StoreTable, _ key: [UInt8]
    ) throws(StoreError) {
        let number = position.withUnsafeBytes { $0.bigEndian(0, as: UInt64.self) }
        let held = save.isEmpty ? nil : try get(.saves, save)
        if let held, let saved = try? IdempotencyRecord(bytes: held), saved.position == number,
            saved.wrote == wrote
        {
            return
        }
        loose(.looseSave, table, key, "position \(number) refers to a save that does not exist")
    }

    private func loose(
        _ kind: StoreFinding.Kind, _ table: StoreTable, _ key: [UInt8], _ message: String
    ) {
        find(StoreFinding(kind, table, key, message, [.delete(table, key: key)]))
    }
}
