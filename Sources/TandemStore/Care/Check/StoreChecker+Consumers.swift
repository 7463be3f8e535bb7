import TandemModel

/// What follows from nothing and is still wrong where it says more than there is: consumers, and the floor of save ids.
extension StoreChecker {
    /// A consumer whose place can't be read is forgotten: it is told so when it comes back, and starts from a snapshot.
    func checkConsumer(_ key: [UInt8], _ value: [UInt8]) {
        let consumer = value.withUnsafeBytes { value in
            key.withUnsafeBytes { Consumer(key: $0, value: value) }
        }
        guard let consumer else {
            let message = "the consumer \(Consumer.name(key)) has no position that can be read"
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
                "consumer \(consumer.name) acknowledged \(consumer.acknowledged), the store stands "
                    + "at \(report.position)", [.put(.consumers, key: key, value: mended.value)]))
    }

    /// Ids of positions to come can't be forgotten already; repeats of new saves would be refused.
    func checkSaveFloor() {
        let highest = report.position + 1
        guard store.saveFloor > highest else { return }
        find(
            StoreFinding(
                .highSaveFloor, .meta, Array("saveFloor".utf8),
                "save ids below \(store.saveFloor) are forgotten, the store stands at "
                    + "\(report.position)", [.lowerSaveFloor(to: highest)]))
    }
}
