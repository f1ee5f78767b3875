internal import ArgumentParser
internal import Foundation

/// The program: from arguments to exit code. The only entry point of this module.
public enum Program {
    /// Makes the process fit for running. Must come before anything that opens a descriptor.
    public static func prepareProcess() {
        StandardStreams.fillGaps()
        CrashReports.disable()
        // The library below OpenSSL's tpm2 provider writes each refusal of a TPM to standard error; our own message says it.
        setenv("TSS2_LOG", "all+none", 0)
    }

    /// Runs the command line of this process.
    ///
    /// Reads the process's arguments, environment and standard streams, and takes over its signals.
    ///
    /// - Returns: The exit code, as published in `docs/exit-codes.md`.
    public static func run() async -> Int32 {
        guardHelpWidth()
        let interruption = Interruption()
        let monitor = SignalMonitor(interruption)
        defer { withExtendedLifetime(monitor) {} }
        let arguments = CommandLine.arguments.isEmpty ? [] : Array(processArguments().dropFirst())
        let code = await run(arguments, in: .process(interruption: interruption))
        return code.rawValue
    }

    /// Runs a command line with given surroundings.
    static func run(_ arguments: [String], in context: CommandContext) async -> ExitCode {
        let command: any ParsableCommand
        do {
            command = try MediactlCommand.parseAsRoot(arguments)
        } catch {
            return report(ParseFailure(error, arguments: arguments), in: context)
        }
        guard var runnable = command as? any ContextCommand else {
            return runBuiltIn(command, arguments: arguments, in: context)
        }
        if let failure = ParseFailure.unusedOption(of: runnable, arguments: arguments) {
            return report(failure, in: context)
        }
        var context = context
        context.arguments = arguments
        return await run(&runnable, in: context)
    }

    /// Help and version are results as well: they are lost when they cannot be written.
    private static func report(_ failure: ParseFailure, in context: CommandContext) -> ExitCode {
        let code = failure.report(in: context)
        return Console(context, schema: "mediactl.error/1", preferences: OutputPreferences()).exitCode(code)
    }

    /// Help and the like: ArgumentParser answers by throwing.
    private static func runBuiltIn(
        _ command: any ParsableCommand,
        arguments: [String],
        in context: CommandContext
    ) -> ExitCode {
        var command = command
        do {
            try command.run()
            return .success
        } catch {
            return report(ParseFailure(error, arguments: arguments), in: context)
        }
    }

    private static func run(_ command: inout any ContextCommand, in context: CommandContext) async -> ExitCode {
        let console = Console(context, schema: type(of: command).schema, preferences: command.global.outputPreferences)
        context.interruption.onEnd { request, isHandled in
            end(request, afterGrace: isHandled, console)
        }
        defer { console.finishClosingWork() }
        do {
            try console.requireOutput()
            return console.exitCode(try await command.run(in: console))
        } catch {
            var diagnosis = ErrorCatalogue.diagnosis(of: error)
            if diagnosis.exitCode == .interrupt, let signal = context.interruption.signal {
                diagnosis.exitCode = signal.exitCode
            }
            if error is CredentialError, context.interruption.signal == .interrupt {
                console.endAtQuestion(diagnosis)
            } else {
                console.fail(diagnosis)
            }
            return console.exitCode(diagnosis.exitCode)
        }
    }

    /// Ends the program from a signal. Work in flight that has been told to give up gets a moment to write its summary;
    /// the journal is right whenever the program ends.
    private static func end(_ request: Interruption.Request, afterGrace: Bool, _ console: Console) {
        let leave: @Sendable () -> Void = {
            // Nor does a reader that takes nothing keep the program from ending.
            DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(500)) {
                _exit(request.signal.exitCode.rawValue)
            }
            let diagnosis = Diagnosis(
                "interrupted",
                "ended by \(request.signal.name)",
                exitCode: request.signal.exitCode
            )
            if request.signal == .interrupt, console.context.interruption.isAsking {
                console.announce([""])
                console.endAtQuestion(diagnosis)
            } else {
                console.fail(diagnosis)
            }
            _exit(request.signal.exitCode.rawValue)
        }
        guard afterGrace, request.count < 3 else { return leave() }
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(5), execute: leave)
    }

    /// Help of ArgumentParser 1.8 traps on a width below 27 columns, whether `COLUMNS` or the terminal says so.
    private static func guardHelpWidth() {
        let named = ProcessInfo.processInfo.environment["COLUMNS"].flatMap { Int($0) }
        let columns = named ?? Terminal.process().columns(STDOUT_FILENO)
        if columns < 40 {
            setenv("COLUMNS", "80", 1)
        }
    }

    /// The arguments with every byte they have: `CommandLine.arguments` repairs what is not UTF-8.
    private static func processArguments() -> [String] {
        (0..<Int(CommandLine.argc)).compactMap { index in
            // The C runtime keeps argv alive and unchanged as long as the process lives.
            CommandLine.unsafeArgv[index].map { argument in
                RawArguments.text(of: Array(UnsafeRawBufferPointer(start: argument, count: strlen(argument))))
            }
        }
    }
}
