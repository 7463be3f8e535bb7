import TandemModel

/// Checks of consumers and the save-id floor.
///
/// Both are independent of the rows, but must not exceed the store's position.
extension StoreChecker {
    /// Checks a consumer; the repair removes a consumer with an unreadable position.
    ///
    /// The client is notified of the removal when it reconnects, and starts from a snapshot.
    func checkConsumer(_ key: [UInt8], _ value: [UInt8]) {
        let consumer = value.withUnsafeBytes { value in
            key.withUnsafeBytes { Consumer(key: $0, value: value) }
        }
        guard let consumer else {
            let message = "the consumer \(Consumer.name(key)) has no readable position"
            return find(
                StoreFinding(
                    .badValue, .consumers, key, message, [.delete(.consumers, key: key)]))
        }
        guard consumer.acknowledged > report.position else { return }
        var mended = consumer
        mended.acknowledged = report.position
        find(
            StoreFinding(
                .futureConsumer, .consumers, key,
                "consumer \(consumer.name) acknowledged \(consumer.acknowledged), but the store is "
                    + "at \(report.position)", [.put(.consumers, key: key, value: mended.value)]))
    }

    /// Checks that the floor isn't above the next position, because retries of new saves would be
    /// rejected.
    func checkSaveFloor() {
        let highest = report.position + 1
        guard store.saveFloor > highest else { return }
        find(
            StoreFinding(
                .highSaveFloor, .meta, Array("saveFloor".utf8),
                "save ids below \(store.saveFloor) are forgotten, but the store is at "
                    + "\(report.position)", [.lowerSaveFloor(to: highest)]))
    }
}
