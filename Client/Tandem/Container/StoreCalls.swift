import TandemModel
import TandemQuery
import TandemWire

/// The operations of a container on the store as a whole, each implemented once for both the
/// blocking and the async form.
struct StoreCalls {
    private let calls: DaemonCalls

    init(_ calls: DaemonCalls) { self.calls = calls }

    func content(of blob: BlobReference) async throws -> [UInt8] {
        try await calls.content(of: blob)
    }

    func compiledModel() async throws -> CompiledModel { try await calls.session().model }

    func status() async throws -> String {
        guard case .status(let text) = try await answer(to: .status) else {
            throw TandemError.unexpectedAnswer("its status")
        }
        return text
    }

    func disconnect(client id: UInt64) async throws -> Bool {
        guard case .disconnected(let wasThere) = try await answer(to: .disconnect(client: id))
        else { throw TandemError.unexpectedAnswer("the client") }
        return wasThere
    }

    func wait(for number: UInt64, timeout: Double) async throws -> Position {
        let sync = Sync(number: number, seconds: timeout)
        guard case .synced(let position) = try await answer(to: .sync(sync)) else {
            throw TandemError.unexpectedAnswer("its position")
        }
        return try await calls.session().position(position)
    }

    func explain(
        _ request: FetchDescriptor, _ isCount: Bool, _ position: Position?
    ) async throws -> FetchExplanation {
        let start = try await calls.session().position(0)
        if let position, !position.isComparable(with: start) {
            throw TandemError.foreign(position)
        }
        let fetch = Fetch(
            request: request, kind: isCount ? .count : .rows, at: position?.number ?? 0)
        guard case .explained(let answer) = try await answer(to: .explain(fetch)) else {
            throw TandemError.unexpectedAnswer("the plan of a fetch")
        }
        let sort = isCount ? "" : request.sort.map(\.description).joined(separator: ",")
        let steps = answer.steps.map { step in
            var step = step
            // Without a requested order, the order of the candidates is meaningless.
            if sort.isEmpty { step.isOrdered = false }
            return step
        }
        let returned = Int(clamping: answer.returned)
        return FetchExplanation(
            position: start.at(answer.position), steps: steps, sort: sort,
            rowsRead: Int(clamping: answer.rowsRead), keysRead: Int(clamping: answer.keysRead),
            // The daemon counts all matches.
            returned: isCount ? request.clipped(returned) : returned,
            output: answer.output, isAnsweredAtOnce: answer.atOnce)
    }

    func install(_ model: ManagedObjectModel) async throws -> Position {
        let request = SchemaRequest(model: model.json.text)
        guard case .schema(let answer) = try await answer(to: .schema(request)) else {
            throw TandemError.unexpectedAnswer("its model")
        }
        return try await calls.session().position(answer.position)
    }

    /// Returns the position and the effects of a migration, or of its preview.
    func change(
        to model: ManagedObjectModel, _ purpose: SchemaRequest.Purpose
    ) async throws -> (position: Position, report: MigrationReport) {
        let request = SchemaRequest(model: model.json.text, purpose: purpose)
        guard case .schema(let answer) = try await answer(to: .schema(request)),
            let report = try answer.report.flatMap({ MigrationReport(json: try JSON(parsing: $0)) })
        else { throw TandemError.unexpectedAnswer("its model") }
        return (try await calls.session().position(answer.position), report)
    }

    func cancel(request: UInt32, ofClient id: UInt64) async throws -> Bool {
        let message = ClientMessage.disconnect(client: id, request: request)
        guard case .disconnected(let wasThere) = try await answer(to: message) else {
            throw TandemError.unexpectedAnswer("the request")
        }
        return wasThere
    }

    func reloadConfiguration() async throws -> (changed: [String], needsRestart: [String]) {
        guard case .status(let text) = try await answer(to: .reload) else {
            throw TandemError.unexpectedAnswer("its configuration")
        }
        let json = try JSON(parsing: text)
        func keys(_ name: String) -> [String] { json[name]?.array?.compactMap(\.string) ?? [] }
        return (keys("changed"), keys("restart"))
    }

    func vacuum(_ request: VacuumRequest) async throws -> VacuumAnswer {
        guard case .vacuumed(let answer) = try await answer(to: .vacuum(request)) else {
            throw TandemError.unexpectedAnswer("its journal")
        }
        return answer
    }

    func follow(_ entities: [String]?) async throws -> Position {
        let read = try Self.following(entities, try await calls.session())
        guard case .objects(let objects) = try await answer(to: .read(read)) else {
            throw TandemError.unexpectedAnswer("a read")
        }
        return try await calls.session().position(objects.position)
    }

    /// Returns a read without objects that subscribes to entities, or to all entities if nil.
    static func following(_ entities: [String]?, _ session: ServerState) throws(TandemError) -> Read
    {
        var tags: Set<EntityTag> = []
        for name in entities ?? session.model.entities.map(\.name) {
            guard let entity = session.model.entity(named: name) else {
                throw session.model.unknownEntity(name)
            }
            tags.formUnion(entity.descendants + [entity.tag])
        }
        return Read(objects: [], members: [], interests: tags.sorted())
    }

    private func answer(to message: ClientMessage) async throws -> DaemonMessage {
        try await calls.answer(to: message).get()
    }
}

extension Sync {
    /// Creates a request that waits for a transaction's number, for at most 46 days.
    init(number: UInt64, seconds: Double) {
        self.init(
            number: number,
            timeoutMilliseconds: UInt32(clamping: Int64(max(0, min(seconds, 4_000_000)) * 1_000)))
    }
}
