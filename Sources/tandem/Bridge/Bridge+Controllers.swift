import Tandem

/// The requests that open, change, read and close named controllers.
extension Bridge {
    func open(_ request: BridgeRequest) throws -> Answer {
        let name = try request.required("controller", request.string("controller"))
        guard controllers[name] == nil else {
            throw TandemError(
                .usage, "a controller `\(name)` is already open; close it or choose another name")
        }
        let settings = try settings(
            request.members.filter { BridgeController.keys.contains($0.key) })
        let controller = try BridgeController(name, settings, try context(request), output)
        controllers[name] = controller
        return answer(controller)
    }

    func sections(_ request: BridgeRequest) throws -> Answer {
        let controller = try controller(request).controller
        if let error = controller.results.error { throw error }
        return answer(controller)
    }

    func refetch(_ request: BridgeRequest) throws -> Answer {
        let controller = try controller(request).controller
        var members = controller.members
        // The old arguments belong to the old predicate.
        if request.has("where") { members["arguments"] = nil }
        for key in BridgeController.keys where request.has(key) {
            members[key] = request[key]
        }
        try controller.refetch(try settings(members))
        return answer(controller)
    }

    func close(_ request: BridgeRequest) throws -> Answer {
        controllers[try controller(request).name] = nil
        return Answer()
    }

    private func controller(
        _ request: BridgeRequest
    ) throws(TandemError) -> (name: String, controller: BridgeController) {
        let name = try request.required("controller", request.string("controller"))
        guard let controller = controllers[name] else {
            throw TandemError(.unknownController, "there is no open controller `\(name)`")
        }
        return (name, controller)
    }

    private func settings(_ members: [String: JSON]) throws -> ControllerSettings {
        let request = try BridgeRequest(
            "the controller's request", members, keys: BridgeController.keys)
        return ControllerSettings(
            members: members, request: try fetchRequest(request),
            sections: try request.string("sections"),
            refresh: try request.strings("refresh") ?? [], cache: try request.string("cache"))
    }

    private func answer(_ controller: BridgeController) -> Answer {
        Answer(
            members: ["sections": controller.sections, "position": .null],
            position: controller.results.position?.number ?? 0)
    }
}
