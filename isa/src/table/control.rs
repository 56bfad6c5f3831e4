//! Program control: branches, waits, barriers, messages, hints.

rows! {
    /// Program control.
    enum Control;

    // Branches and ends.
    SBranch                  {Sopp 0x02 s_branch}           {Sopp 0x20 s_branch}                     [<- simm16:label]              branch terminator;
    SCbranchScc0             {Sopp 0x04 s_cbranch_scc0}     {Sopp 0x21 s_cbranch_scc0}               [<- simm16:label]              branch reads_scc;
    SCbranchScc1             {Sopp 0x05 s_cbranch_scc1}     {Sopp 0x22 s_cbranch_scc1}               [<- simm16:label]              branch reads_scc;
    SCbranchVccz             {Sopp 0x06 s_cbranch_vccz}     {Sopp 0x23 s_cbranch_vccz}               [<- simm16:label]              branch reads_vcc;
    SCbranchVccnz            {Sopp 0x07 s_cbranch_vccnz}    {Sopp 0x24 s_cbranch_vccnz}              [<- simm16:label]              branch reads_vcc;
    SCbranchExecz            {Sopp 0x08 s_cbranch_execz}    {Sopp 0x25 s_cbranch_execz}              [<- simm16:label]              branch reads_exec;
    SCbranchExecnz           {Sopp 0x09 s_cbranch_execnz}   {Sopp 0x26 s_cbranch_execnz}             [<- simm16:label]              branch reads_exec;
    SGetpcB64                {Sop1 0x1c s_getpc_b64}        {Sop1 0x47 s_getpc_b64}                  [sdst:b64 <- ];
    SSetpcB64                {Sop1 0x1d s_setpc_b64}        {Sop1 0x48 s_setpc_b64}                  [<- ssrc0:b64]                 branch terminator;
    SSwappcB64               {Sop1 0x1e s_swappc_b64}       {Sop1 0x49 s_swappc_b64}                 [sdst:b64 <- ssrc0:b64]        branch terminator;
    SCallB64                 {Sopk 0x15 s_call_b64}         {Sopk 0x14 s_call_b64}                   [sdst:b64 <- simm16:label]     branch terminator;
    SEndpgm                  {Sopp 0x01 s_endpgm}           {Sopp 0x30 s_endpgm}                     [<- ]                          terminator;
    SEndpgmSaved             {Sopp 0x1b s_endpgm_saved}     {Sopp 0x31 s_endpgm_saved}               [<- ]                          terminator;
    SCodeEnd                 {}                             {Sopp 0x1f s_code_end}                   [<- ]                          terminator;
    STrap                    {Sopp 0x12 s_trap}             {Sopp 0x10 s_trap}                       [<- simm16:u16];

    // Waits, barriers, messages.
    SBarrier                 {Sopp 0x0a s_barrier}          {Sopp 0x3d s_barrier}                    [<- ]                          barrier;
    SWaitcnt                 {Sopp 0x0c s_waitcnt}          {Sopp 0x09 s_waitcnt}                    [<- simm16:wait_counts];
    SWaitcntVscnt            {}                             {Sopk 0x18 s_waitcnt_vscnt}              [<- sdst:b32, simm16:b16];
    SWaitcntVmcnt            {}                             {Sopk 0x19 s_waitcnt_vmcnt}              [<- sdst:b32, simm16:b16];
    SWaitcntExpcnt           {}                             {Sopk 0x1a s_waitcnt_expcnt}             [<- sdst:b32, simm16:b16];
    SWaitcntLgkmcnt          {}                             {Sopk 0x1b s_waitcnt_lgkmcnt}            [<- sdst:b32, simm16:b16];
    SWaitcntDepctr           {}                             {Sopp 0x08 s_waitcnt_depctr}             [<- simm16:dep_counts];
    SWaitIdle                {}                             {Sopp 0x0a s_wait_idle}                  [<- ];
    SSendmsg                 {Sopp 0x10 s_sendmsg}          {Sopp 0x36 s_sendmsg}                    [<- simm16:message]            lgkm reads_m0;
    SSendmsghalt             {Sopp 0x11 s_sendmsghalt}      {Sopp 0x37 s_sendmsghalt}                [<- simm16:message]            lgkm reads_m0;
    SSendmsgRtnB32           {}                             {Sop1 0x4c s_sendmsg_rtn_b32}            [sdst:b32 <- ssrc0:message]    lgkm;
    SSendmsgRtnB64           {}                             {Sop1 0x4d s_sendmsg_rtn_b64}            [sdst:b64 <- ssrc0:message]    lgkm;

    // Hints and states.
    SNop                     {Sopp 0x00 s_nop}              {Sopp 0x00 s_nop}                        [<- simm16:u16];
    SSleep                   {Sopp 0x0e s_sleep}            {Sopp 0x03 s_sleep}                      [<- simm16:u16];
    SSethalt                 {Sopp 0x0d s_sethalt}          {Sopp 0x02 s_sethalt}                    [<- simm16:u16];
    SSetprio                 {Sopp 0x0f s_setprio}          {Sopp 0x35 s_setprio}                    [<- simm16:u16];
    SWakeup                  {Sopp 0x03 s_wakeup}           {Sopp 0x34 s_wakeup}                     [<- ];
    SIcacheInv               {Sopp 0x13 s_icache_inv}       {Sopp 0x3c s_icache_inv}                 [<- ];
    STtracedata              {Sopp 0x16 s_ttracedata}       {Sopp 0x3a s_ttracedata}                 [<- ]                          reads_m0;
    STtracedataImm           {}                             {Sopp 0x3b s_ttracedata_imm}             [<- simm16:b16];
    SIncperflevel            {Sopp 0x14 s_incperflevel}     {Sopp 0x38 s_incperflevel}               [<- simm16:u16];
    SDecperflevel            {Sopp 0x15 s_decperflevel}     {Sopp 0x39 s_decperflevel}               [<- simm16:u16];
    SWaitEvent               {}                             {Sopp 0x0b s_wait_event}                 [<- simm16:b16];
    SDelayAlu                {}                             {Sopp 0x07 s_delay_alu}                  [<- simm16:delay];
    SClause                  {}                             {Sopp 0x05 s_clause}                     [<- simm16:b16];
    SSetInstPrefetchDistance {}                             {Sopp 0x04 s_set_inst_prefetch_distance} [<- simm16:b16];
    SRoundMode               {}                             {Sopp 0x11 s_round_mode}                 [<- simm16:b16];
    SDenormMode              {}                             {Sopp 0x12 s_denorm_mode}                [<- simm16:u16];
    SSetGprIdxOn             {Sopc 0x11 s_set_gpr_idx_on}   {}                                       [<- ssrc0:b32, ssrc1:gpr_idx];
    SSetGprIdxOff            {Sopp 0x1c s_set_gpr_idx_off}  {}                                       [<- ];
    SSetGprIdxMode           {Sopp 0x1d s_set_gpr_idx_mode} {}                                       [<- simm16:gpr_idx];
    SSetGprIdxIdx            {Sop1 0x32 s_set_gpr_idx_idx}  {}                                       [<- ssrc0:b32];
    SGetregB32               {Sopk 0x11 s_getreg_b32}       {Sopk 0x11 s_getreg_b32}                 [sdst:b32 <- simm16:hw_reg];
    SSetregB32               {Sopk 0x12 s_setreg_b32}       {Sopk 0x12 s_setreg_b32}                 [<- simm16:hw_reg, sdst:b32];
    SSetregImm32B32          {Sopk 0x14 s_setreg_imm32_b32} {Sopk 0x13 s_setreg_imm32_b32}           [<- simm16:hw_reg, simm32:b32];
}
