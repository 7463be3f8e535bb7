import TandemDaemon
import TandemIO
import TandemJournal
import TandemModel
import TandemStore
import TestSupport

/// The transactions of a journal, and the store's expected hash at each position.
struct Reference: Sendable {
    let encoded: [EncodedTransaction]
    /// The hashes of the dumps at positions 0, 1, ….
    let hashes: [StableHash]

    /// Applies a journal's transactions one by one to an empty store.
    init(_ encoded: [EncodedTransaction], onlyLast: Bool = false) throws {
        self.encoded = encoded
        let scratch = try Scratch(inMemory: true)
        let store = try Store.open(
            path: scratch.path, newIdentity: StoreIdentity(log: LogID(high: 0, low: 0), epoch: 1))
        defer { store.close() }
        var hashes = [try store.stateHash()]
        for (index, transaction) in encoded.enumerated() {
            try store.apply(transaction)
            let isWanted = !onlyLast || index == encoded.count - 1
            hashes.append(isWanted ? try store.stateHash() : hashes[0])
        }
        self.hashes = hashes
    }
}

/// Journal and store after a recovery.
struct Recovered {
    let encoded: [EncodedTransaction]
    let hash: StableHash
    let applied: UInt64
    let nextNumber: UInt64
    let consumers: [Consumer]
    /// The number of blobs whose bytes in the store differ from the journal's.
    let wrongBlobs: Int

    /// Recovers a store as the daemon does, without a socket, and stops it regularly.
    static func recover(_ store: String) throws {
        var configuration = DaemonConfiguration(store: store)
        configuration.segmentBytes = RecordedDaemon.segmentBytes
        let daemon = try Daemon.open(configuration)
        daemon.handle.stop()
        try daemon.run()
    }

    /// Reads the journal and the store of a stopped daemon.
    init(_ place: String) throws {
        var options = JournalOptions()
        options.segmentBytes = RecordedDaemon.segmentBytes
        let (journal, _) = try Journal.open(
            directory: place + "/journal", fileSystem: RealFileSystem(), options: options,
            identityIfNew: LogIdentity(high: 0, low: 0), appliedPosition: nil)
        defer { try? journal.close() }
        let cursor = try journal.read(from: 1)
        var encoded: [EncodedTransaction] = []
        while let entry = try cursor.next() {
            encoded.append(try EncodedTransaction(bytes: entry.payload))
        }
        self.encoded = encoded
        let store = try Store.open(
            path: place + "/store",
            newIdentity: StoreIdentity(log: LogID(high: 0, low: 0), epoch: 1))
        defer { store.close() }
        applied = store.appliedPosition
        nextNumber = store.nextNumber
        consumers = try store.consumers()
        hash = try store.stateHash()
        // The dump has only the blobs' hashes.
        let blobs = try encoded.flatMap { $0.blobBytes > 0 ? try $0.decoded().blobs : [] }
        wrongBlobs = try blobs.count { blob in
            try store.hasContent(of: blob.reference)
                && store.content(of: blob.reference) != blob.content
        }
    }
}

/// The conditions that a crash image must satisfy after its recovery.
struct ImageCheck {
    /// The store's directory.
    let store: String
    let disclosed: DisclosedState
    let reference: Reference

    /// Recovers the image, and returns the violations; empty if all laws hold.
    func violations() -> [String] {
        do {
            try Recovered.recover(store)
        } catch {
            return ["refused: \(error)"]
        }
        do {
            return compare(try Recovered(store))
        } catch {
            return ["cannot be read after a recovery: \(error)"]
        }
    }

    private func compare(_ found: Recovered) -> [String] {
        var violations: [String] = []
        let last = UInt64(found.encoded.count)
        if last < disclosed.position {
            violations.append(
                "law 3: \(disclosed.position) was answered, the journal ends at \(last)")
        }
        if last > UInt64(reference.encoded.count) {
            violations.append("position \(last) was never written")
        } else {
            for (found, expected) in zip(found.encoded, reference.encoded) where found != expected {
                violations.append("law 3: position \(expected.position) has different bytes")
            }
            if found.hash != reference.hashes[Int(last)] {
                violations.append("law 6: the store at \(last) is not the journal's replay")
            }
        }
        if found.applied != last {
            violations.append("the store is at \(found.applied), the journal at \(last)")
        }
        if disclosed.hasConsumer, found.consumers.isEmpty {
            violations.append("law 3: a registered consumer is missing")
        }
        for consumer in found.consumers where consumer.acknowledged > last {
            violations.append("\(consumer) has more than the journal, which ends at \(last)")
        }
        if found.wrongBlobs > 0 {
            violations.append("law 6: \(found.wrongBlobs) blobs have different bytes")
        }
        if found.nextNumber < disclosed.numbersBelow {
            violations.append(
                "law 3: numbers below \(disclosed.numbersBelow) were handed out, the next is "
                    + "\(found.nextNumber)")
        }
        return violations
    }
}
