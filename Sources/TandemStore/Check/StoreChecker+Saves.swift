import TandemModel

/// Save ids: each is found by its position, and each position leads to one.
extension StoreChecker {
    func checkSave(_ key: [UInt8], _ value: [UInt8]) throws(StoreError) {
        guard let saved = try? SavedOnce(bytes: value), key.count >= 4 else {
            return loose(.badValue, .saves, key, "the answer to a save can't be read")
        }
        guard saved.position > 0, saved.position <= report.position else {
            let message = "a save at \(saved.position), the store stands at \(report.position)"
            return loose(.looseSave, .saves, key, message)
        }
        guard saved.position >= store.saveFloor else {
            let message = "a save at \(saved.position), below the floor \(store.saveFloor)"
            return loose(.looseSave, .saves, key, message)
        }
        let order = StoreKey.number(saved.position)
        guard try get(.saveOrder, order) != key else { return }
        find(
            StoreFinding(
                .looseSave, .saveOrder, order,
                "position \(saved.position) does not lead to its save",
                [.put(.saveOrder, key: order, value: key)]))
    }

    func checkOrder(_ key: [UInt8], _ value: [UInt8]) throws(StoreError) {
        guard key.count == 8 else {
            return loose(.badKey, .saveOrder, key, "a key has 8 bytes, not \(key.count)")
        }
        let position = key.withUnsafeBytes { $0.bigEndian(0, as: UInt64.self) }
        let held = value.isEmpty ? nil : try get(.saves, value)
        guard let held, (try? SavedOnce(bytes: held))?.position == position else {
            let message = "position \(position) leads to a save that is not there"
            return loose(.looseSave, .saveOrder, key, message)
        }
    }

    private func loose(
        _ kind: StoreFinding.Kind, _ table: StoreTable, _ key: [UInt8], _ message: String
    ) {
        find(StoreFinding(kind, table, key, message, [.delete(table, key: key)]))
    }
}
