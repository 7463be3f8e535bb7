import TandemModel
import TandemStore
import TandemWire

/// Inserts of a request that can't be carried out, with the reasons.
///
/// Inserts that link to a rejected insert are rejected, too, because its object will not exist.
struct RejectedInserts {
    /// The errors by object number.
    private(set) var errors: [ObjectNumber: TandemError] = [:]
    private let request: SaveRequest
    private let model: CompiledModel
    private let store: Store
    /// The inserts of the request that link to another insert, by the target's number; built on
    /// demand.
    private var dependents: [ObjectNumber: [ObjectReference]]?
    private var bytes = 0

    init(_ request: SaveRequest, _ model: CompiledModel, _ store: Store) {
        self.request = request
        self.model = model
        self.store = store
    }

    /// Whether the errors fill an answer.
    var isFull: Bool { bytes >= ProblemList.mostBytes }

    /// Whether an insert is rejected, or need not be evaluated because the answer is full.
    func isDecided(_ object: ObjectReference) -> Bool { isFull || errors[object.number] != nil }

    /// Rejects an insert and all inserts that link to it, directly or indirectly.
    ///
    /// Cost: proportional to the links to rejected inserts; the first call visits all links of the
    /// request.
    mutating func add(_ error: TandemError, for object: ObjectReference) throws {
        record(error, object)
        var gone = [object]
        while let object = gone.popLast() {
            // A link to a number already in use refers to the existing object.
            guard try store.entity(ofNumber: object.number) == nil else { continue }
            for dependent in linking(to: object) where !isDecided(dependent) {
                record(
                    TandemError.unknownObject("\(model.id(of: object))"), dependent
                )
                gone.append(dependent)
            }
        }
    }

    private mutating func record(_ error: TandemError, _ object: ObjectReference) {
        errors[object.number] = error
        bytes += error.problems.reduce(64 + error.message.utf8.count) { $0 + $1.textBytes }
    }

    private mutating func linking(to object: ObjectReference) -> [ObjectReference] {
        let known = dependents ?? Self.dependents(request)
        dependents = known
        return known[object.number] ?? []
    }

    private static func dependents(
        _ request: SaveRequest
    ) -> [ObjectNumber: [ObjectReference]] {
        let inserted = Set(request.operations.map(\.object.number))
        var dependents: [ObjectNumber: [ObjectReference]] = [:]
        for operation in request.operations {
            for target in operation.targets where inserted.contains(target) {
                dependents[target, default: []].append(operation.object)
            }
        }
        return dependents
    }
}

extension SaveOperation {
    /// The numbers of the objects that an insert links to.
    fileprivate var targets: [ObjectNumber] {
        guard case .insert(_, let values, let links) = self else { return [] }
        return values.compactMap { $0.value.reference?.number } + links.map(\.target.number)
    }
}

/// A bound on the work spent on finding the rejected inserts of a request.
///
/// A round evaluates the request without the inserts rejected before, and finds inserts that break
/// one of three kinds of rules. Inserts that the rounds miss fail when they are carried out.
struct RejectionBudget {
    /// The number of rounds so far.
    private(set) var rounds = 0
    private let mostRounds: Int
    /// The number of operations, values and links that may still be examined.
    private var left: Int

    init(rounds: Int = 3, work: Int = 100_000) {
        mostRounds = rounds
        left = work
    }

    /// Begins a round if another one is allowed.
    ///
    /// The first round is always allowed: it costs no more than the planning that failed.
    mutating func begin(_ request: SaveRequest) -> Bool {
        guard rounds == 0 || (rounds < mostRounds && left > 0) else { return false }
        rounds += 1
        assert(rounds <= max(1, mostRounds), "The number of rounds is bounded.")
        left -= request.operations.reduce(0) { $0 + $1.work }
        return true
    }
}

extension SaveOperation {
    fileprivate var work: Int {
        guard case .insert(_, let values, let links) = self else { return 1 }
        return 1 + values.count + links.count
    }
}
