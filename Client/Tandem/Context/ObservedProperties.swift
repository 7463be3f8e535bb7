import Observation
import Synchronization
import TandemIO
import TandemModel

/// The observed properties of a context's objects, by object number.
///
/// One registrar serves all objects, so observers are notified of changes to objects that they do
/// not retain. A registrar does not report whether reads are being observed, nor when an
/// observation ends. The captured values of key paths reveal both:
///
/// - A registrar hashes a key path only while reads are being observed. `isTracking` passes the
///   registrar a key path that records whether it is hashed.
/// - A registrar keeps the key paths of an observation until the observation fires or ends. Each
///   key path owns a `Token`, which removes the property from the table when the token is freed.
///
/// An observation that never fires keeps its tokens as long as the context lives, but no objects.
final class ObservedProperties: Observable, Sendable {
    /// The slot for the state of an object: whether it is deleted, has changes, and so on.
    static let state = -1

    /// The captured value of a key path.
    struct Key: Hashable, Sendable {
        let number: ObjectNumber
        let slot: Int
        /// Not part of the key's identity.
        let owned: (any Sendable & AnyObject)?

        static func == (a: Key, b: Key) -> Bool { a.number == b.number && a.slot == b.slot }

        func hash(into hasher: inout Hasher) {
            if slot == Probe.slot { (owned as? Probe)?.wasHashed.store(true, ordering: .relaxed) }
            hasher.combine(number)
            hasher.combine(slot)
        }
    }

    /// Records whether a registrar hashed its key path.
    final class Probe: Sendable {
        static let slot = -2
        /// Also set by other threads that end observations.
        ///
        /// The context then mistakes this for an observation of its own, which is harmless.
        let wasHashed = Atomic(false)
    }

    /// Keeps a property in the table until the token is freed, on any thread.
    final class Token: Sendable {
        private let table: Table
        private let number: ObjectNumber

        fileprivate init(_ table: Table, _ number: ObjectNumber, _ slot: Int) {
            self.table = table
            self.number = number
            table.add(number, slot)
        }

        deinit { table.remove(number) }
    }

    /// The observed properties of one object, and the number of tokens that keep them.
    private struct Entry {
        var tokens = 0
        var slots = PropertyMask()
        var hasState = false
    }

    /// The objects with observed properties.
    fileprivate final class Table: Sendable {
        /// The lock is never held while a registrar is called.
        private let entries = Locked<[ObjectNumber: Entry]>([:])
        /// The number of entries, so that contexts without observers need not take the lock.
        private let count = Atomic(0)

        var isEmpty: Bool { count.load(ordering: .relaxed) == 0 }

        func add(_ number: ObjectNumber, _ slot: Int) {
            entries.withLock { entries in
                entries[number, default: Entry()].tokens += 1
                if slot == ObservedProperties.state {
                    entries[number]?.hasState = true
                } else {
                    entries[number]?.slots.insert(slot)
                }
                count.store(entries.count, ordering: .relaxed)
            }
        }

        func remove(_ number: ObjectNumber) {
            entries.withLock { entries in
                entries[number]?.tokens -= 1
                if entries[number]?.tokens == 0 { entries[number] = nil }
                count.store(entries.count, ordering: .relaxed)
            }
        }

        func numbers() -> [ObjectNumber] {
            isEmpty ? [] : entries.withLock { Array($0.keys) }
        }

        func contains(_ number: ObjectNumber) -> Bool {
            !isEmpty && entries.withLock { $0[number] != nil }
        }

        /// Returns the slots in `changed` that may be observed; nil means all slots.
        func slots(of number: ObjectNumber, _ changed: PropertyMask?) -> [Int] {
            guard !isEmpty, let entry = entries.withLock({ $0[number] }) else { return [] }
            let slots = changed?.intersection(entry.slots) ?? entry.slots
            return (entry.hasState ? [ObservedProperties.state] : []) + slots
        }
    }

    private let registrar = ObservationRegistrar()
    private let table = Table()
    private let probe: Probe
    private let probePath: any KeyPath<ObservedProperties, Bool> & Sendable

    /// The link to the objects' context, which checks the isolation of reads in debug builds.
    let link: ContextLink

    init(_ link: ContextLink) {
        let probe = Probe()
        self.probe = probe
        self.link = link
        probePath = \.[Key(number: 0, slot: Probe.slot, owned: probe)]
    }

    /// The numbers of the objects with observed properties.
    var numbers: [ObjectNumber] { table.numbers() }

    /// Whether a property of an object is observed.
    func contains(_ number: ObjectNumber) -> Bool { table.contains(number) }

    /// Registers a read with the current observation, if there is one.
    func access(_ slot: Int, of number: ObjectNumber) {
        link.checkIsolation()
        guard isTracking else { return }
        let token = Token(table, number, slot)
        registrar.access(self, keyPath: \.[Key(number: number, slot: slot, owned: token)])
    }

    /// Whether reads are being observed.
    private var isTracking: Bool {
        probe.wasHashed.store(false, ordering: .relaxed)
        registrar.access(self, keyPath: probePath)
        return probe.wasHashed.load(ordering: .relaxed)
    }

    /// Notifies observers that an object's state and properties will change; nil means all
    /// properties.
    func willChange(_ number: ObjectNumber, _ changed: PropertyMask?) {
        for slot in table.slots(of: number, changed) {
            registrar.willSet(self, keyPath: \.[Key(number: number, slot: slot, owned: nil)])
        }
    }

    /// Notifies observers that an object's state and properties have changed; nil means all
    /// properties.
    func didChange(_ number: ObjectNumber, _ changed: PropertyMask?) {
        for slot in table.slots(of: number, changed) {
            registrar.didSet(self, keyPath: \.[Key(number: number, slot: slot, owned: nil)])
        }
    }

    /// A placeholder whose key paths identify properties to the registrar.
    subscript(key: Key) -> Bool { false }
}
