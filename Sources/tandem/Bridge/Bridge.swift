import FoundationEssentials
import Tandem
import TandemIO

/// Carries out the requests of `tandem bridge` one at a time on the main actor, and merges pushes
/// between them.
///
/// Calls to the library block, so that events caused by a request are written before its answer.
@MainActor final class Bridge {
    let container: PersistentContainer
    let output = BridgeOutput()
    var contexts: [String: ManagedObjectContext] = [:]
    var observers: [String: ContextObserver] = [:]
    var controllers: [String: BridgeController] = [:]
    /// The objects to which `$alias` names refer, by name.
    var aliases: [String: BridgeAlias] = [:]
    /// The models that took effect while the bridge was running and have not been reported yet.
    private let pendingSchemaEvents = Locked(PendingSchemaEvents())
    private let failures: MergeFailures

    init(container: PersistentContainer) {
        self.container = container
        let failures = MergeFailures(output)
        self.failures = failures
        let (output, pendingSchemaEvents) = (output, pendingSchemaEvents)
        container.onConnectionNotice { [weak self] notice in
            switch notice {
            case .connection(let event):
                if let error = event.error {
                    return failures.report(error, of: event.context, at: event.position.number)
                }
                // The read-only state causes no event, because saves report it as an error.
                guard event.state == .lost || event.state == .restored else { return }
                output.write(Bridge.json(event))
            case .model(let hash, let position):
                pendingSchemaEvents.withLock { $0.add(hash, position) }
                Task { await self?.sendPendingSchemaEvents() }
            }
        }
    }

    /// Carries out requests until the input ends.
    func run(_ lines: InputLines) async {
        for await line in lines {
            switch line {
            case .success(let bytes): await answer(Data(bytes))
            case .failure(let error):
                fail(.none, TandemError(.limitExceeded, "\(error)"))
            }
        }
        container.close()
    }

    // MARK: Requests

    /// The result of a verb: the members of `ok`, and the position of the result.
    struct Answer {
        var members: [String: JSON] = [:]
        var position: UInt64 = 0
    }

    private func answer(_ line: Data) async {
        guard let members = (try? JSON(parsing: line))?.object else {
            return refuse(line)
        }
        guard let id = RequestID(members["id"], in: line) else {
            return fail(
                .none, TandemError(.usage, "a request needs an `id`, which is a string or number"))
        }
        do {
            guard let verb = members["do"]?.string else {
                throw TandemError(.usage, "a request needs `do`, the name of a verb")
            }
            var answer = try await carryOut(verb, members)
            catchUp(to: answer.position)
            if answer.position > 0 || answer.members["position"] != nil {
                answer.members["position"] = JSON(number: answer.position)
            }
            sendPendingSchemaEvents(through: answer.position)
            output.write(["ok": .object(answer.members)], to: id)
        } catch let failure as BridgeFailure {
            output.write(["error": failure.json], to: id)
        } catch {
            fail(id, BridgeErrors.tandemError(error))
        }
    }

    /// Answers a line that can't be parsed; the answer repeats the line's id if it is readable.
    private func refuse(_ line: Data) {
        let id = RequestID.of(line)
        let text =
            id.isNone
            ? "each line must be one JSON object"
            : "the request has a number that is out of range; the largest double is 1.8e308"
        fail(id, TandemError(.usage, text))
    }

    private func fail(_ id: RequestID, _ error: TandemError) {
        if let done = error.done {
            catchUp(to: done.position.number)
            sendPendingSchemaEvents(through: done.position.number)
        }
        output.write(["error": BridgeErrors.json(error)], to: id)
    }

    private func carryOut(_ verb: String, _ members: [String: JSON]) async throws -> Answer {
        func request(_ keys: String...) throws(TandemError) -> BridgeRequest {
            try BridgeRequest("`\(verb)`", members, keys: ["do", "id"] + keys)
        }
        switch verb {
        case "schema": return try schema(try request("apply"))
        case "save":
            return try save(try request("ops", "context", "policy", "author", "saveId"))
        case "fetch": return try fetch(try BridgeRequest(fetch: verb, members))
        case "count": return try count(try BridgeRequest(fetch: verb, members))
        case "observe":
            return try observe(
                try request("observer", "entity", "where", "arguments", "context"))
        case "open":
            return try open(
                try BridgeRequest(
                    "`open`", members,
                    keys: ["do", "id", "controller", "context"] + BridgeController.keys))
        case "refetch":
            return try refetch(
                try BridgeRequest(
                    "`refetch`", members,
                    keys: ["do", "id", "controller"] + BridgeController.keys))
        case "sections": return try sections(try request("controller"))
        case "close": return try close(try request("controller"))
        case "reach": return try await reach(try request("position", "timeout", "context"))
        case "pause": return try pause(try request("context"))
        case "resume": return try resume(try request("context"))
        case "batch": return try batch(members)
        default: throw TandemError(.usage, "`\(verb)` is not a verb of the bridge")
        }
    }

    // MARK: Order

    /// Merges saves up to a position in every context that is not paused.
    ///
    /// Call this before writing an answer, so that the events of saves up to the answer's position
    /// precede the answer.
    func catchUp(to number: UInt64) {
        for (name, context) in contexts.sorted(by: { $0.key < $1.key }) where !context.isPaused {
            guard let position = context.position, position.number < number else { continue }
            do {
                try context.reach(position.at(number))
            } catch let error as TandemError where error.code == .disconnected {
                // Another event reports the lost connection; the context catches up after
                // reconnecting.
            } catch {
                // Events of saves up to the answer's position may be missing.
                failures.report(
                    BridgeErrors.tandemError(error), of: name, at: position.number)
            }
        }
    }

    /// Writes the events of models that took effect, each after the events of earlier saves.
    ///
    /// If called before an answer is written, reports only models up to the answer's position, so
    /// that contexts stay at that position.
    func sendPendingSchemaEvents(through number: UInt64 = .max) {
        for (hash, position) in pendingSchemaEvents.withLock({ $0.drain(through: number) }) {
            catchUp(to: position.number)
            output.write(["event": .string("schema"), "hash": .string(hash.description)])
        }
    }

    /// The position of the last known model change.
    var modelPosition: UInt64 { pendingSchemaEvents.withLock { $0.last } }

    private nonisolated static func json(_ event: ConnectionEvent) -> [String: JSON] {
        [
            "event": .string("connection"), "state": .string(event.state.rawValue),
            "position": JSON(number: event.position.number),
        ]
    }
}

/// Model changes that have not been reported yet.
struct PendingSchemaEvents {
    private var models: [(StableHash, Position)] = []
    /// The position of the last model change.
    private(set) var last: UInt64 = 0

    mutating func add(_ hash: StableHash, _ position: Position) {
        models.append((hash, position))
        last = position.number
    }

    mutating func drain(through number: UInt64) -> [(StableHash, Position)] {
        let count = models.prefix { $0.1.number <= number }.count
        defer { models.removeFirst(count) }
        return Array(models.prefix(count))
    }
}

/// An error in its JSON form, created where the error's details are known.
struct BridgeFailure: Error {
    var json: JSON
}
