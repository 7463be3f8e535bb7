import TandemIO
import TandemModel
import TandemQuery
import TandemWire

/// One connection of the fake daemon; everything it writes is written under the daemon's lock.
final class FakeSession: Sendable {
    private struct State {
        var cursor: UInt64 = 0
        var interests: Set<EntityTag> = []
        var isReady = false
    }

    let daemon: FakeDaemon
    let socket: Socket
    private let state = Locked(State())

    init(_ daemon: FakeDaemon, _ socket: Socket) {
        self.daemon = daemon
        self.socket = socket
    }

    /// Reads and answers until the client is gone.
    func run() {
        var decoder = ClientMessageDecoder()
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = (try? buffer.withUnsafeMutableBytes { try socket.readSome(into: $0) }) ?? 0
            guard count > 0 else { break }
            decoder.append(Array(buffer[..<count]))
            while let envelope = try? decoder.next() {
                daemon.state.withLock { state in
                    state.requests.append(envelope.message)
                    answer(envelope.message, envelope.id, &state)
                }
            }
        }
        socket.shutdown()
        daemon.state.withLock { state in state.sessions.removeAll { $0 === self } }
    }

    func push(_ transaction: Transaction, isLost: Bool) {
        let (isReady, previous, interests) = state.withLock { state in
            defer { if state.isReady { state.cursor = transaction.position } }
            return (state.isReady, state.cursor, state.interests)
        }
        guard isReady, !isLost else { return }
        if let part = EncodedTransaction(transaction).filtered(interests.contains) {
            send(.transaction(TransactionPush(previous: previous, transaction: part)), 0)
        } else {
            let position = transaction.position
            send(.progress(ProgressPush(previous: previous, position: position)), 0)
        }
    }

    func carryOut(_ request: SaveRequest, _ id: UInt32, _ state: inout FakeDaemon.State) {
        let isKnown = request.onlyAsks || state.saved[request.saveID] != nil
        guard isKnown || request.modelVersion == daemon.model.version else {
            return send(.failure(TandemError(.schemaMismatch, "another model")), id)
        }
        if let error = state.refusesSaves { return send(.failure(error), id) }
        let saved = daemon.commit(request, request.author ?? "client", &state)
        if state.cutsBeforeSaved {
            state.cutsBeforeSaved = false
            socket.shutdown()
        } else {
            send(.saved(saved), id)
        }
    }

    func send(_ message: DaemonMessage, _ id: UInt32) {
        var bytes: [UInt8] = []
        do {
            try FrameEncoder.encode(message, id: id, into: &bytes)
            try socket.writeAll(bytes)
        } catch {
            socket.shutdown()
        }
    }

    private func answer(
        _ message: ClientMessage, _ id: UInt32, _ daemonState: inout FakeDaemon.State
    ) {
        switch message {
        case .hello(let hello): welcome(hello, &daemonState)
        case .save(let request):
            if daemonState.holdsSaves {
                daemonState.held.append(.init(request: request, id: id, session: self))
            } else {
                carryOut(request, id, &daemonState)
            }
        case .fetch(let fetch):
            saveIfBusy(&daemonState)
            follow(fetch.interests, daemonState.end)
            if daemonState.losesNextFetch {
                daemonState.losesNextFetch = false
                return
            }
            if daemonState.unfetched.contains(fetch.request.entity) {
                return send(.failure(TandemError(.limitExceeded, "it reaches too much")), id)
            }
            sendInParts(fetched(fetch, daemonState), id, &daemonState)
        case .read(let read):
            saveIfBusy(&daemonState)
            follow(read.interests, daemonState.end)
            send(.objects(self.read(read, daemonState)), id)
        case .sync:
            follow([], daemonState.end)
            send(.synced(position: daemonState.end), id)
        case .lease(let count):
            daemonState.nextNumber += UInt64(count)
            let first = daemonState.nextNumber - UInt64(count)
            send(.lease(Lease(first: first, count: count, epoch: 1)), id)
        case .history where daemonState.expiresHistory:
            send(.failure(TandemError(.historyExpired, "it is no longer there")), id)
        case .history(let request):
            if let error = daemonState.refusesHistory { return send(.failure(error), id) }
            if daemonState.savesBeforeHistory > 0, let one = daemonState.rows.values.first {
                daemonState.savesBeforeHistory -= 1
                saveAgain(one.reference, &daemonState)
            }
            let part = daemonState.transactions.filter {
                $0.position > request.from && $0.position <= request.to
            }
            send(
                .history(
                    History(
                        position: request.to, transactions: part.map { EncodedTransaction($0) },
                        isComplete: true, first: 1)), id)
        case .verdicts(let request):
            if !daemonState.beforeVerdicts.isEmpty {
                let save = SaveRequest(
                    saveID: [1], contentHash: StableHash([]), author: "other", context: "",
                    policy: .error, modelVersion: daemon.model.version,
                    operations: daemonState.beforeVerdicts)
                _ = daemon.commit(save, "other", &daemonState)
            }
            saveIfBusy(&daemonState)
            follow([], daemonState.end)
            if request.items.contains(where: { daemonState.unjudged.contains($0.request.entity) }) {
                return send(.failure(TandemError(.limitExceeded, "it reaches too much")), id)
            }
            let items = request.items.map { _ in [Verdict]() }
            let alongside = request.alongside.map { part -> PiggybackedAnswer in
                switch part {
                case .fetch(let fetch): .fetched(fetched(fetch, daemonState))
                case .read(let read): .objects(self.read(read, daemonState))
                }
            }
            send(
                .verdicts(
                    Verdicts(
                        position: daemonState.end, items: items, related: daemonState.related,
                        alongside: alongside)), id)
        default:
            send(.failure(TandemError(.usage, "the fake daemon does not support this request")), id)
        }
    }

    /// Sends an answer chunked as the daemon's state says, with the interruption between its
    /// chunks.
    private func sendInParts(
        _ answer: FetchAnswer, _ id: UInt32, _ daemonState: inout FakeDaemon.State
    ) {
        guard let chunkBytes = daemonState.chunkBytes else { return send(.fetched(answer), id) }
        var parts = AnswerChunker(answer, chunkBytes: chunkBytes)
        var count = 0
        while let message = parts.nextMessage() {
            send(message, id)
            count += 1
            guard let (messages, event) = daemonState.interruption, messages == count else {
                continue
            }
            if !daemonState.interruptsAll { daemonState.interruption = nil }
            switch event {
            case .cut: return socket.shutdown()
            case .failure(let error): return send(.failure(error), id)
            case .silence(let body): return body()
            case .repetition: send(message, id)
            case .part(let part): send(.part(part), id)
            case .save:
                if let one = daemonState.rows.values.first {
                    saveAgain(one.reference, &daemonState)
                }
            }
        }
    }

    private func saveIfBusy(_ daemonState: inout FakeDaemon.State) {
        guard daemonState.isBusy, let one = daemonState.rows.values.first else { return }
        saveAgain(one.reference, &daemonState)
    }

    private func fetched(_ fetch: Fetch, _ state: FakeDaemon.State) -> FetchAnswer {
        let entity = daemon.entity(fetch.request.entity)
        let found = state.rows.values.filter { entity.includes($0.reference.tag) }
        if let list = fetch.list, found.count > Int(list.rowsUpTo) {
            return FetchAnswer(
                position: state.end, count: UInt64(found.count),
                places: places(of: found, fetch.request, list))
        }
        let objects = found.sorted { $0.reference < $1.reference }.map(stored)
        return FetchAnswer(
            position: state.end, count: UInt64(found.count),
            objects: fetch.kind == .count ? [] : StoredObjects(objects), references: [], related: []
        )
    }

    /// Returns the placements of a list without relationships.
    private func places(
        of found: [FakeDaemon.Stored], _ request: FetchDescriptor, _ list: ListDetails
    ) -> ListPlacements? {
        guard
            let compiled = try? CompiledRequest(
                request, sectionKeyPath: list.sectionKeyPath, in: daemon.model)
        else { return nil }
        let placed = found.map { item -> (key: [UInt8], section: String, object: ObjectReference) in
            var section = ""
            if case .known(let name) = compiled.section(item.reference, item.row, OwnValues()) {
                section = name
            }
            let key = compiled.sortKey(item.reference, item.row, OwnValues())
            return (key ?? [], section, item.reference)
        }.sorted {
            $0.key == $1.key
                ? $0.object.number < $1.object.number : $0.key.lexicographicallyPrecedes($1.key)
        }
        let names = placed.map(\.section).reduce(into: [String]()) {
            if !$0.contains($1) { $0.append($1) }
        }
        var places = ListPlacements(sections: names)
        for (key, section, object) in placed {
            let section = UInt32(names.firstIndex(of: section) ?? 0)
            key.withUnsafeBytes { places.append(object, key: $0, section: section) }
        }
        return places
    }

    /// Commits another client's save, which advances the ring of every connection.
    private func saveAgain(_ object: ObjectReference, _ daemonState: inout FakeDaemon.State) {
        let slot = daemon.entity("Content").slot(of: "name") ?? 0
        let value = SaveValue(slot: slot, value: .string("\(daemonState.end)"))
        let save = SaveRequest(
            saveID: ThisProcess.randomBytes(16), contentHash: StableHash([]), author: "busy",
            context: "", policy: .error, modelVersion: daemon.model.version,
            operations: [.update(object: object, baseVersion: 0, values: [value], links: [])])
        _ = daemon.commit(save, "busy", &daemonState)
    }

    private func follow(_ interests: [EntityTag], _ position: UInt64) {
        state.withLock { state in
            state.interests.formUnion(interests)
            state.cursor = position
        }
    }

    private func stored(_ item: FakeDaemon.Stored) -> StoredObject {
        StoredObject(object: item.reference, version: item.version, row: item.row)
    }

    private func read(_ read: Read, _ state: FakeDaemon.State) -> ReadAnswer {
        var answer = ReadAnswer(position: state.end, objects: [], missing: [], members: [])
        for reference in read.objects {
            if let found = state.rows[reference.number] {
                answer.objects.append(stored(found))
            } else {
                answer.missing.append(reference)
            }
        }
        for request in read.members {
            let owner = request.owner
            guard let entity = daemon.model.entity(tagged: owner.tag),
                let relationship = entity.properties[request.slot].relationship
            else { continue }
            let members = state.rows.values.filter { item in
                guard let entity = daemon.model.entity(tagged: item.reference.tag),
                    relationship.inverseSlot < entity.properties.count
                else { return false }
                return item.row.reference(relationship.inverseSlot, in: entity) == owner
            }
            answer.members.append(
                MemberList(
                    owner: owner, slot: request.slot, members: members.map(\.reference).sorted()))
        }
        return answer
    }

    private func welcome(_ hello: Hello, _ daemonState: inout FakeDaemon.State) {
        daemonState.hellos.append(hello)
        if daemonState.silentWelcomes > 0 {
            daemonState.silentWelcomes -= 1
            return
        }
        var writer = ByteWriter()
        daemon.model.encode(into: &writer)
        let resumes = hello.resume != nil && !daemonState.expiresHistory
        let first = daemonState.nextNumber
        daemonState.nextNumber += 100
        send(
            .welcome(
                Welcome(
                    log: daemon.log, epoch: daemonState.epoch,
                    position: daemonState.end,
                    resumed: resumes, model: writer.bytes,
                    lease: Lease(first: first, count: 100, epoch: 1),
                    saveIDFloor: daemonState.saveIDFloor,
                    isReadOnly: false, server: "fake")), 0)
        let tags = hello.interests.compactMap { daemon.model.entity(named: $0)?.tag }
        state.withLock { state in
            state.interests = Set(tags)
            state.cursor = resumes ? hello.resume?.number ?? 0 : daemonState.end
            state.isReady = true
        }
        for missed in daemonState.transactions
        where resumes && missed.position > (hello.resume?.number ?? 0) {
            push(missed, isLost: false)
        }
    }
}

/// A reader that knows no other objects.
private struct OwnValues: GraphReader {
    func row(of object: ObjectReference) -> RowLookup { .unknown }

    func members(
        of object: ObjectReference, _ relationship: CompiledRelationship, slot: Int
    ) -> [ObjectReference]? { nil }
}
