import TandemModel
import TandemStore
import TandemWire

/// Inserts of a request that can't be carried out, with why: with each also those that link to it, as it will not be there.
struct Refusals {
    /// By the numbers of the objects.
    private(set) var errors: [ObjectNumber: TandemError] = [:]
    private let request: SaveRequest
    private let model: CompiledModel
    private let store: Store
    /// The inserts of the request that link to another one of it; made when there is one to look for.
    private var dependents: [ObjectNumber: [ObjectReference]]?
    private var bytes = 0

    init(_ request: SaveRequest, _ model: CompiledModel, _ store: Store) {
        self.request = request
        self.model = model
        self.store = store
    }

    /// Whether there are as many as an answer has room for.
    var isFull: Bool { bytes >= ProblemList.mostBytes }

    /// Whether an insert was refused, or need not be judged any more.
    func settles(_ object: ObjectReference) -> Bool { isFull || errors[object.number] != nil }

    /// Refuses an insert, and whatever links to it.
    ///
    /// Cost: that of the links that lead to what is refused; the first time of all links.
    mutating func add(_ error: TandemError, for object: ObjectReference) throws {
        note(error, object)
        var gone = [object]
        while let object = gone.popLast() {
            // A number that is in use leads to the object that has it.
            guard try store.entity(ofNumber: object.number) == nil else { continue }
            for dependent in linking(to: object) where !settles(dependent) {
                note(
                    TandemError(.unknownObject, "\(model.id(of: object)) does not exist"), dependent
                )
                gone.append(dependent)
            }
        }
    }

    private mutating func note(_ error: TandemError, _ object: ObjectReference) {
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
    /// The numbers of the objects that an insert leads to.
    fileprivate var targets: [ObjectNumber] {
        guard case .insert(_, let values, let links) = self else { return [] }
        return values.compactMap { $0.value.reference?.number } + links.map(\.target.number)
    }
}

/// How much is spent on finding which inserts of a request stand in the way.
///
/// A round judges the request without what was refused before. It finds one kind of broken rules, of which there are three; what is left then is found
/// by who tries to insert it.
struct RefusalBudget {
    /// How many rounds there were.
    private(set) var rounds = 0
    private let mostRounds: Int
    /// How many more operations, values and links are looked at.
    private var left: Int

    init(rounds: Int = 3, work: Int = 100_000) {
        mostRounds = rounds
        left = work
    }

    /// Begins a round if there may be one more; the first costs no more than the planning that failed.
    mutating func begin(_ request: SaveRequest) -> Bool {
        guard rounds == 0 || (rounds < mostRounds && left > 0) else { return false }
        rounds += 1
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
