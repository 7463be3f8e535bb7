import TandemModel

/// Checks the table of consumers, which does not depend on rows.
struct ConsumerChecker {
    private let graph: CheckedGraph

    init(_ graph: CheckedGraph) { self.graph = graph }

    /// Checks a consumer; the repair of an unreadable position is to remove the consumer.
    ///
    /// The consumer's client is notified when it reconnects, and starts from a snapshot.
    func check(_ key: [UInt8], _ value: [UInt8], _ report: inout StoreReport) {
        let consumer = value.withUnsafeBytes { value in
            key.withUnsafeBytes { Consumer(key: $0, value: value) }
        }
        guard let consumer else {
            let message = "the consumer \(Consumer.name(key)) has no readable position"
            return report.add(
                StoreFinding(
                    .badValue, .consumers, key, message, [.delete(.consumers, key: key)]))
        }
        guard consumer.acknowledged > graph.position else { return }
        var repaired = consumer
        repaired.acknowledged = graph.position
        report.add(
            StoreFinding(
                .futureConsumer, .consumers, key,
                "consumer \(consumer.name) acknowledged \(consumer.acknowledged), but the store is "
                    + "at \(graph.position)", [.put(.consumers, key: key, value: repaired.value)]))
    }
}
